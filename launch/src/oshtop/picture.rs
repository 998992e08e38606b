//! Values over time as a picture (SVG): panels below each other, with one axis of time.

use std::fmt::Write;

use super::columns::short;
use crate::markup::escaped;

const WIDTH: f64 = 960.0;
const LEFT: f64 = 70.0;
const RIGHT: f64 = 20.0;
/// Of the title, of a panel with its own title, and of the axis of time.
const ABOVE: f64 = 40.0;
const PANEL: f64 = 130.0;
const BELOW: f64 = 40.0;
/// The part of a panel that is drawn on.
const PLOT: f64 = 92.0;

/// A value at a time, and what it lies between.
#[derive(Clone, Copy, Debug)]
pub(super) struct Point {
    /// In seconds.
    pub(super) at: f64,
    pub(super) low: f64,
    pub(super) value: f64,
    pub(super) high: f64,
}

impl Point {
    /// A value by itself.
    pub(super) fn one(at: f64, value: f64) -> Self {
        Self { at, low: value, value, high: value }
    }
}

#[derive(Debug)]
pub(super) struct Panel {
    pub(super) title: &'static str,
    pub(super) unit: &'static str,
    /// In the order of time.
    pub(super) points: Vec<Point>,
}

/// The picture.
pub(super) fn svg(title: &str, panels: &[Panel]) -> String {
    let end = panels.iter().flat_map(|panel| &panel.points).map(|point| point.at).fold(1e-3, f64::max);
    let x = |at: f64| LEFT + at / end * (WIDTH - LEFT - RIGHT);
    let height = ABOVE + PANEL * panels.len() as f64 + BELOW;
    let title = escaped(title);
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" width=\"{WIDTH}\" height=\"{height}\" \
         font-family=\"sans-serif\" font-size=\"12\" fill=\"#222\">\n<title>{title}</title>\n\
         <rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n<text x=\"{LEFT}\" y=\"24\" font-size=\"15\">{title}</text>\n"
    );
    for (number, panel) in panels.iter().enumerate() {
        draw(&mut out, panel, ABOVE + PANEL * number as f64 + PANEL - PLOT - 8.0, x);
    }
    let base = height - BELOW;
    for tick in 0..=(end / step(end)) as u32 {
        let at = f64::from(tick) * step(end);
        let _ = writeln!(
            out,
            "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{} s</text>",
            x(at),
            base + 16.0,
            short(at)
        );
    }
    out + "</svg>\n"
}

/// A panel, whose values lie below this height.
fn draw(out: &mut String, panel: &Panel, top: f64, x: impl Fn(f64) -> f64) {
    let most = panel.points.iter().map(|point| point.high).fold(1e-9, f64::max);
    let step = step(most);
    let range = (most / step).ceil() * step;
    let y = |value: f64| top + PLOT - value / range * PLOT;
    let _ = writeln!(out, "<text x=\"{LEFT}\" y=\"{:.1}\" fill=\"#555\">{}</text>", top - 8.0, panel.title);
    for tick in 0..=(range / step).round() as u32 {
        let value = f64::from(tick) * step;
        let _ = writeln!(
            out,
            "<line x1=\"{LEFT}\" x2=\"{:.1}\" y1=\"{1:.1}\" y2=\"{1:.1}\" stroke=\"#ddd\"/>\
             <text x=\"{2:.1}\" y=\"{3:.1}\" text-anchor=\"end\">{4}{5}</text>",
            WIDTH - RIGHT,
            y(value),
            LEFT - 6.0,
            y(value) + 4.0,
            short(value),
            panel.unit
        );
    }
    let line = |of: fn(&Point) -> f64| {
        panel.points.iter().map(move |point| (point.at, of(point))).collect::<Vec<_>>()
    };
    let path = |points: &[(f64, f64)]| {
        points
            .iter()
            .map(|&(at, value)| format!("{:.1},{:.1}", x(at), y(value)))
            .collect::<Vec<_>>()
            .join(" ")
    };
    if panel.points.iter().any(|point| point.low < point.high) {
        let between: Vec<_> =
            line(|point| point.high).into_iter().chain(line(|point| point.low).into_iter().rev()).collect();
        let _ =
            writeln!(out, "<polygon points=\"{}\" fill=\"#0072b2\" fill-opacity=\"0.2\"/>", path(&between));
    }
    let values = line(|point| point.value);
    let _ = writeln!(
        out,
        "<polyline points=\"{}\" fill=\"none\" stroke=\"#0072b2\" stroke-width=\"1.5\"/>",
        path(&values)
    );
}

/// A step of 1, 2 or 5 by which an axis to `most` has some four marks.
fn step(most: f64) -> f64 {
    let power = 10_f64.powf((most / 4.0).log10().floor());
    [1.0, 2.0, 5.0, 10.0]
        .map(|factor| factor * power)
        .into_iter()
        .find(|step| most / step <= 5.0)
        .unwrap_or(most)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes_have_a_few_round_marks() {
        for most in [0.003, 0.9, 1.0, 7.3, 12.0, 99.0, 100.0, 350.0, 4.2e9] {
            let marks = most / step(most);
            assert!((1.0..=5.0).contains(&marks), "{marks} marks up to {most}");
        }
    }

    #[test]
    fn a_picture_has_each_panel_and_its_text_is_harmless() {
        let points = vec![Point::one(1.0, 5.0), Point { at: 2.0, low: 1.0, value: 2.0, high: 9.0 }];
        let panels = [Panel { title: "operations", unit: "/s", points: points.clone() }];
        let picture = svg("<script>&", &panels);
        assert!(picture.contains("&lt;script&gt;&amp;") && !picture.contains("<script"), "{picture}");
        assert!(picture.contains("operations") && picture.contains("<polygon"), "{picture}");
        let flat = svg("", &[Panel { title: "heap", unit: "B", points: points[..1].to_vec() }]);
        assert!(flat.contains("<polyline") && !flat.contains("<polygon"), "{flat}");
        assert!(!flat.contains("NaN"), "{flat}");
    }
}
