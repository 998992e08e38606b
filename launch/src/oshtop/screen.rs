//! The picture in the terminal: drawn after each sample, and after each key.

use std::{
    io,
    time::{Duration, Instant},
};

use ratatui::{
    DefaultTerminal, Frame,
    crossterm::event::{self, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers},
    layout::{Alignment, Constraint, Layout},
    style::{Modifier, Style, Stylize},
    text::Line,
    widgets::{Cell, Paragraph, Row, Table},
};

use super::{
    columns::{self, Column, SortBy},
    sort, summary, title,
};
use crate::live::{
    find::LiveJob,
    sample::{Sampler, View},
};

/// What is shown.
#[derive(Debug, Default)]
struct Picture {
    title: String,
    view: View,
    order: SortBy,
    /// PEs above the first that is shown.
    scrolled: usize,
    is_held: bool,
}

/// What a key does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Action {
    End,
    Sort(SortBy),
    /// Down by this many PEs.
    Scroll(isize),
    Hold,
}

/// Shows `job` until the user has seen enough or no PE is left.
pub(super) fn run(job: &LiveJob, interval: Duration) -> io::Result<()> {
    let mut terminal = ratatui::try_init()?;
    let shown = show(job, interval, &mut terminal);
    ratatui::try_restore()?;
    shown
}

fn show(job: &LiveJob, interval: Duration, terminal: &mut DefaultTerminal) -> io::Result<()> {
    let begin = Instant::now();
    let mut sampler = Sampler::new(job);
    let mut picture = Picture { title: title(job, Duration::ZERO), ..Picture::default() };
    // The first picture comes soon.
    let mut time = interval.min(Duration::from_millis(250));
    loop {
        let mut end = Ok(false);
        let view = sampler.sample(time, |pause| {
            end = heed(pause, &mut picture, terminal);
            !matches!(end, Ok(false))
        });
        if end? || view.pes.is_empty() {
            return Ok(());
        }
        if !picture.is_held {
            (picture.view, picture.title) = (view, title(job, begin.elapsed()));
            sort(&mut picture.view, picture.order);
        }
        terminal.draw(|frame| picture.draw(frame))?;
        time = interval;
    }
}

/// Waits for a key for so long, and does what it asks for. Whether that is to end.
fn heed(time: Duration, picture: &mut Picture, terminal: &mut DefaultTerminal) -> io::Result<bool> {
    if !event::poll(time)? {
        return Ok(false);
    }
    let action = match event::read()? {
        Event::Key(key) if key.kind == KeyEventKind::Press => action(key),
        _ => None,
    };
    if action == Some(Action::End) {
        return Ok(true);
    }
    picture.take(action);
    terminal.draw(|frame| picture.draw(frame))?;
    Ok(false)
}

fn action(key: KeyEvent) -> Option<Action> {
    Some(match key.code {
        KeyCode::Char('c') if key.modifiers.contains(KeyModifiers::CONTROL) => Action::End,
        KeyCode::Char('q') | KeyCode::Esc => Action::End,
        KeyCode::Char(' ') => Action::Hold,
        KeyCode::Char(key) => Action::Sort(SortBy::of_key(key)?),
        KeyCode::Up => Action::Scroll(-1),
        KeyCode::Down => Action::Scroll(1),
        KeyCode::PageUp => Action::Scroll(-20),
        KeyCode::PageDown => Action::Scroll(20),
        KeyCode::Home => Action::Scroll(isize::MIN),
        _ => return None,
    })
}

impl Picture {
    fn take(&mut self, action: Option<Action>) {
        match action {
            Some(Action::Sort(order)) => {
                self.order = order;
                sort(&mut self.view, order);
            }
            Some(Action::Scroll(by)) => {
                let last = self.view.pes.len().saturating_sub(1);
                self.scrolled = self.scrolled.saturating_add_signed(by).min(last);
            }
            Some(Action::Hold) => self.is_held = !self.is_held,
            Some(Action::End) | None => {}
        }
    }

    fn draw(&self, frame: &mut Frame<'_>) {
        let wrong = self.view.mismatches.len() as u16;
        let heights = [1, 1, wrong, 0, 1].map(Constraint::Length);
        let [first, second, mismatches, _, last] = heights;
        let areas = Layout::vertical([first, second, mismatches, Constraint::Min(2), last]);
        let [first, second, mismatches, middle, last] = areas.areas(frame.area());
        frame.render_widget(Line::from(self.title.as_str()).bold(), first);
        frame.render_widget(Line::from(summary(&self.view)), second);
        let lines: Vec<Line<'_>> =
            self.view.mismatches.iter().map(|line| line.as_str().red().into()).collect();
        frame.render_widget(Paragraph::new(lines), mismatches);
        frame.render_widget(self.table(), middle);
        let held = if self.is_held { "held; space goes on   " } else { "" };
        let keys = format!("{held}q end   p w o i sort   arrows scroll   space hold");
        frame.render_widget(Line::from(keys).dim(), last);
    }

    fn table(&self) -> Table<'_> {
        let (columns, all) = columns::table(&self.view.pes);
        let widths = columns.iter().enumerate().map(|(at, column)| {
            let widest = all.iter().map(|cells| cells[at].chars().count()).max().unwrap_or_default();
            let width = widest.max(column.title.len()) as u16;
            // The last one takes what is left.
            if at + 1 == columns.len() { Constraint::Min(width.min(8)) } else { Constraint::Length(width) }
        });
        let widths: Vec<Constraint> = widths.collect();
        let rows = self.view.pes.iter().zip(all).skip(self.scrolled).map(|(pe, cells)| {
            let style = match pe.waiting {
                0.9.. => Style::new().yellow(),
                0.5.. => Style::new(),
                _ => Style::new().green(),
            };
            row(cells, &columns).style(style)
        });
        let head = row(columns.iter().map(|column| column.title.to_owned()).collect(), &columns);
        Table::new(rows, widths)
            .header(head.style(Style::new().add_modifier(Modifier::REVERSED)))
            .column_spacing(1)
    }
}

fn row(cells: Vec<String>, columns: &[Column]) -> Row<'static> {
    let aligned = cells.into_iter().zip(columns).map(|(cell, column)| {
        let alignment = if column.is_number { Alignment::Right } else { Alignment::Left };
        Cell::from(Line::from(cell).alignment(alignment))
    });
    Row::new(aligned)
}

#[cfg(test)]
mod tests {
    use ratatui::{Terminal, backend::TestBackend};

    use super::*;
    use crate::live::sample::PeView;

    fn picture(n: usize) -> Picture {
        let pe = |pe| PeView {
            pe,
            host: "node1".to_owned(),
            pid: 4709 + pe as u32,
            call: if pe == 0 { "computing" } else { "wait_until" }.to_owned(),
            arguments: if pe == 0 { "" } else { "u64 at heap offset 0x40 >= 3" }.to_owned(),
            age: (pe > 0).then_some(Duration::from_secs(12)),
            out_ops: 1.25e6 * (pe + 1) as f64,
            out_bytes: 10e6,
            waiting: if pe == 0 { 0.0 } else { 1.0 },
            heap_used: 4096,
            heap_size: 1 << 20,
            ..PeView::default()
        };
        let view = View { pes: (0..n).map(pe).collect(), mismatches: Vec::new() };
        Picture { title: "job 4700 of oshrun: 2 PEs on node1".to_owned(), view, ..Picture::default() }
    }

    fn drawn(picture: &Picture, width: u16, height: u16) -> Vec<String> {
        let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
        terminal.draw(|frame| picture.draw(frame)).unwrap();
        let buffer = terminal.backend().buffer();
        let line = |y| (0..width).map(|x| buffer[(x, y)].symbol()).collect::<String>().trim_end().to_owned();
        (0..height).map(line).collect()
    }

    #[test]
    fn the_picture_says_what_each_pe_is_in_and_does() {
        assert_eq!(
            drawn(&picture(2), 120, 6),
            [
                "job 4700 of oshrun: 2 PEs on node1",
                "3.8M operations/s, 20.0MB/s, waiting 50 %, imbalance 2.00",
                "PE host   pid in          for out/s outB/s in/s inB/s coll/s wait      heap arguments",
                " 0 node1 4709 computing        1.2M  10.0M    0     0      0   0% 4.1k/1.0M",
                " 1 node1 4710 wait_until 12 s  2.5M  10.0M    0     0      0 100% 4.1k/1.0M u64 at heap offset 0x40 >= 3",
                "q end   p w o i sort   arrows scroll   space hold",
            ]
        );
    }

    #[test]
    fn phases_have_a_column_where_a_pe_is_in_one() {
        let mut picture = picture(2);
        picture.view.pes[1].phase = "exchange".to_owned();
        let lines = drawn(&picture, 120, 6);
        assert!(lines[2].starts_with("PE host   pid phase    in          for"), "{lines:?}");
        assert!(lines[3].starts_with(" 0 node1 4709          computing"), "{lines:?}");
        assert!(lines[4].starts_with(" 1 node1 4710 exchange wait_until 12 s"), "{lines:?}");
    }

    #[test]
    fn it_fits_any_terminal_scrolls_and_shows_what_is_wrong() {
        let mut many = picture(100);
        for (width, height) in [(1, 1), (10, 3), (40, 10), (300, 200)] {
            assert_eq!(drawn(&many, width, height).len(), usize::from(height));
        }
        many.take(Some(Action::Scroll(20)));
        assert!(drawn(&many, 100, 10)[3].starts_with("20 node1"), "{:?}", drawn(&many, 100, 10));
        many.take(Some(Action::Scroll(isize::MIN)));
        many.take(Some(Action::Sort(SortBy::Out)));
        assert!(drawn(&many, 100, 10)[3].starts_with("99 node1"));
        many.take(Some(Action::Scroll(1000)));
        assert_eq!(many.scrolled, 99);
        many.view.mismatches = vec!["PE 0 is in broadcast".to_owned()];
        many.take(Some(Action::Hold));
        let lines = drawn(&many, 100, 10);
        assert_eq!(lines[2], "PE 0 is in broadcast");
        assert!(lines[9].starts_with("held"));
    }

    #[test]
    fn keys_do_what_the_last_line_says() {
        let press = |code| action(KeyEvent::new(code, KeyModifiers::NONE));
        assert_eq!(press(KeyCode::Char('q')), Some(Action::End));
        assert_eq!(press(KeyCode::Char('c')), None);
        assert_eq!(action(KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL)), Some(Action::End));
        assert_eq!(press(KeyCode::Char('w')), Some(Action::Sort(SortBy::Waiting)));
        assert_eq!(press(KeyCode::PageDown), Some(Action::Scroll(20)));
        assert_eq!(press(KeyCode::Char(' ')), Some(Action::Hold));
    }
}
