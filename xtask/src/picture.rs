//! The picture of the progress engine in the design notes: boxes, and arrows between them.
//!
//! It has a background of its own, as an image in a page knows nothing of the page's colours.

use std::{fmt::Write, fs, path::Path};

use crate::run::{Failure, Outcome, Verdict};

const FILE: &str = "book/src/images/engine.svg";
const WIDTH: i32 = 940;
const HEIGHT: i32 = 500;
/// Size of the text.
const TEXT: i32 = 13;
const SMALL: i32 = 11;

const INK: &str = "#1e293b";
const PALE: &str = "#64748b";
const PAGE: &str = "#f8fafc";

/// A rectangle with a title, and lines below it.
struct Rectangle {
    /// Left, top, width and height.
    at: [i32; 4],
    fill: &'static str,
    title: &'static str,
    lines: &'static [&'static str],
}

/// A line with a head at its end.
struct Arrow {
    /// From corner to corner.
    path: &'static [[i32; 2]],
    /// Where the label is, and its lines.
    label: [i32; 2],
    lines: &'static [&'static str],
}

const GROUP: &str = "#e2e8f0";
const SOURCE: &str = "#fde9d3";
const ENGINE: &str = "#dbeafe";
const DRIVER: &str = "#dcfce7";
const OTHER: &str = "#ffffff";

/// What stands around others comes before them.
const PARTS: &[Rectangle] = &[
    Rectangle {
        at: [350, 16, 240, 50],
        fill: OTHER,
        title: "other PEs",
        lines: &["store, and ring if this PE sleeps"],
    },
    Rectangle { at: [20, 120, 210, 238], fill: GROUP, title: "sources", lines: &[] },
    Rectangle {
        at: [32, 148, 186, 46],
        fill: SOURCE,
        title: "UCX worker",
        lines: &["sleep on its descriptor"],
    },
    Rectangle {
        at: [32, 200, 186, 46],
        fill: SOURCE,
        title: "CUDA streams",
        lines: &["a call of the host rings"],
    },
    Rectangle {
        at: [32, 252, 186, 46],
        fill: SOURCE,
        title: "emulated device",
        lines: &["a time to look again"],
    },
    Rectangle {
        at: [32, 304, 186, 46],
        fill: SOURCE,
        title: "timers, launcher",
        lines: &["a time, a descriptor"],
    },
    Rectangle { at: [350, 120, 240, 238], fill: GROUP, title: "engine of a PE", lines: &[] },
    Rectangle {
        at: [362, 148, 216, 46],
        fill: ENGINE,
        title: "doorbell",
        lines: &["rings only where a PE sleeps"],
    },
    Rectangle {
        at: [362, 200, 216, 46],
        fill: ENGINE,
        title: "watched words",
        lines: &["each with a task's waker"],
    },
    Rectangle { at: [362, 252, 216, 46], fill: ENGINE, title: "sources", lines: &["polled in turn"] },
    Rectangle {
        at: [362, 304, 216, 46],
        fill: ENGINE,
        title: "wait policy",
        lines: &["spin, yield, look, sleep"],
    },
    Rectangle { at: [710, 120, 210, 238], fill: GROUP, title: "drivers", lines: &[] },
    Rectangle {
        at: [722, 148, 186, 46],
        fill: DRIVER,
        title: "a tokio task",
        lines: &["where init ran in tokio"],
    },
    Rectangle { at: [722, 200, 186, 46], fill: DRIVER, title: "a blocked thread", lines: &["in block_on"] },
    Rectangle {
        at: [722, 252, 186, 98],
        fill: DRIVER,
        title: "the helper thread",
        lines: &["oxshmem-engine,", "one in a process,", "while no other drives"],
    },
    Rectangle {
        at: [350, 432, 240, 50],
        fill: OTHER,
        title: "futures",
        lines: &["watches, flights, op sets"],
    },
];

const ARROWS: &[Arrow] = &[
    Arrow { path: &[[470, 66], [470, 120]], label: [480, 97], lines: &["ring"] },
    Arrow { path: &[[710, 190], [590, 190]], label: [620, 182], lines: &["drive"] },
    Arrow { path: &[[590, 270], [710, 270]], label: [612, 248], lines: &["wake by bell", "or descriptor"] },
    Arrow { path: &[[350, 190], [230, 190]], label: [258, 182], lines: &["poll, arm"] },
    Arrow { path: &[[230, 270], [350, 270]], label: [256, 248], lines: &["ready, or", "how to sleep"] },
    Arrow { path: &[[420, 358], [420, 432]], label: [372, 399], lines: &["wake"] },
    Arrow { path: &[[500, 432], [500, 358]], label: [510, 392], lines: &["poll_with,", "register"] },
    Arrow { path: &[[125, 358], [125, 457], [350, 457]], label: [150, 449], lines: &["complete operations"] },
];

/// Writes the picture.
pub(crate) fn picture() -> Outcome {
    fs::create_dir_all(Path::new(FILE).parent().unwrap_or(Path::new("")))?;
    fs::write(FILE, draw())?;
    println!("{FILE}");
    Ok(Verdict::Passed)
}

/// Compares the picture with the one that is there.
pub(crate) fn is_current() -> Result<(), Failure> {
    if fs::read_to_string(FILE).unwrap_or_default() == draw() {
        return Ok(());
    }
    Err(Failure::new(format!("{FILE} is out of date: cargo xtask picture")))
}

fn draw() -> String {
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" font-family=\"sans-serif\" \
         font-size=\"{TEXT}\" fill=\"{INK}\">\n<title>The progress engine</title>\n\
         <defs><marker id=\"head\" viewBox=\"0 0 8 8\" refX=\"8\" refY=\"4\" markerWidth=\"8\" markerHeight=\"8\" \
         orient=\"auto\"><path d=\"M0 0L8 4L0 8z\" fill=\"{PALE}\"/></marker></defs>\n\
         <rect width=\"{WIDTH}\" height=\"{HEIGHT}\" rx=\"8\" fill=\"{PAGE}\"/>\n"
    );
    for Rectangle { at: [left, top, width, height], fill, title, lines } in PARTS {
        let (x, y) = (left + 10, top + 19);
        let _ = writeln!(
            svg,
            "<rect x=\"{left}\" y=\"{top}\" width=\"{width}\" height=\"{height}\" rx=\"5\" fill=\"{fill}\" \
             stroke=\"{PALE}\" stroke-opacity=\".5\"/>\n<text x=\"{x}\" y=\"{y}\" font-weight=\"bold\">{title}</text>"
        );
        text(&mut svg, [x, y + 18], lines);
    }
    for Arrow { path, label, lines } in ARROWS {
        let corners: Vec<_> = path.iter().map(|[x, y]| format!("{x} {y}")).collect();
        let _ = writeln!(
            svg,
            "<path d=\"M{}\" fill=\"none\" stroke=\"{PALE}\" stroke-width=\"1.8\" marker-end=\"url(#head)\"/>",
            corners.join("L")
        );
        text(&mut svg, *label, lines);
    }
    svg + "</svg>\n"
}

/// Small text, line below line.
fn text(svg: &mut String, [x, y]: [i32; 2], lines: &[&str]) {
    for (line, y) in lines.iter().zip((y..).step_by(15)) {
        let _ = writeln!(svg, "<text x=\"{x}\" y=\"{y}\" font-size=\"{SMALL}\">{line}</text>");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Left, top, right and bottom of small text, in a wide font.
    fn bounds([x, y]: [i32; 2], line: &str) -> [i32; 4] {
        [x, y - SMALL, x + line.len() as i32 * SMALL * 6 / 10, y + 3]
    }

    #[test]
    fn text_is_inside_its_box() {
        for Rectangle { at: [left, top, width, height], title, lines, .. } in PARTS {
            assert!(title.len() as i32 * TEXT * 65 / 100 <= width - 20, "{title}");
            for line in *lines {
                assert!(bounds([left + 10, 0], line)[2] <= left + width, "{line}");
            }
            assert!(top + 24 + 18 * lines.len().min(1) as i32 <= top + height, "{title}");
        }
    }

    #[test]
    fn labels_are_on_no_box_and_no_arrow() {
        let overlap = |a: [i32; 4], b: [i32; 4]| a[0] < b[2] && b[0] < a[2] && a[1] < b[3] && b[1] < a[3];
        let boxes = PARTS.iter().map(|part| {
            let [left, top, width, height] = part.at;
            [left, top, left + width, top + height]
        });
        let lines = ARROWS.iter().flat_map(|arrow| arrow.path.windows(2)).map(|ends| {
            let ([x, y], [u, v]) = (ends[0], ends[1]);
            [x.min(u) - 1, y.min(v) - 1, x.max(u) + 1, y.max(v) + 1]
        });
        let taken: Vec<_> = boxes.chain(lines).collect();
        for arrow in ARROWS {
            for (line, y) in arrow.lines.iter().zip((arrow.label[1]..).step_by(15)) {
                let label = bounds([arrow.label[0], y], line);
                assert!(!taken.iter().any(|&other| overlap(label, other)), "{line}");
            }
        }
    }
}
