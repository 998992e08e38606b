//! The picture of a timeline in the book and the README: the page of a job that was recorded just
//! now, in a browser.

use std::fs;

use crate::run::{Failure, Job, Outcome, Verdict, target_dir};

const FILE: &str = "book/src/images/timeline.png";
/// Leaves the timeline of the page, at some steps in the middle of the job.
const SCRIPT: &str = r##"<script>
addEventListener("load", () => {
  const packed = packedTimeline(), spans = packed.spans(0);
  const waits = [...spans.begin].filter((_, i) => packed.colourOf[spans.call[i]] === WAIT);
  const from = waits[waits.length >> 1], to = waits[(waits.length >> 1) + 8], margin = (to - from) / 3;
  timeline.show(-1, from + margin, to - margin);
  for (const element of document.body.children) element.hidden = !["timeline-key", "timeline-view"].includes(element.id);
  Object.assign(document.body.style, { padding: "10px", margin: "0", maxWidth: "none" });
  document.activeElement.blur();
  timeline.draw();
});
</script></body>"##;

/// Records the stencil of the examples and writes the picture.
pub(crate) fn timeline() -> Outcome {
    Job::cargo("build -p oxshmem-launch --bin oshrun").run()?;
    Job::cargo("build --example heat_gpu").run()?;
    let (target, folder) = (target_dir()?, target_dir()?.join("timeline"));
    let oshrun = target.join("debug/oshrun");
    Job::new(oshrun, ["-np", "4", "--timeout", "60", "--trace"])
        .args([&folder, &target.join("debug/examples/heat_gpu")])
        .run()?;
    let page = fs::read_to_string(folder.join("report.html"))?.replace("</body>", SCRIPT);
    let path = folder.join("picture.html");
    fs::write(&path, page)?;
    let mut browsers = ["chromium-headless-shell", "chromium"].into_iter();
    let browser = browsers.find(|name| Job::new("which", [name]).quiet().works());
    let browser = browser.ok_or_else(|| Failure::new("there is no chromium: cargo verify --only tools"))?;
    Job::new(browser, ["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"])
        .args(["--hide-scrollbars", "--window-size=1200,230", "--blink-settings=preferredColorScheme=1"])
        .args([format!("--user-data-dir={}", folder.join("profile").display())])
        .args([format!("--screenshot={FILE}"), format!("file://{}", path.display())])
        .run()?;
    println!("{FILE}");
    Ok(Verdict::Passed)
}
