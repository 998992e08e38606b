//! What is in the report that comes back from a device.

/// Its text.
pub(crate) struct Report<'a>(pub(crate) &'a str);

/// How the part of it begins that has the items, and how a stand-in's is marked.
const HEAD: &str = "# Device verification";
const STAND_IN: &str = "This is of a stand-in for a device.";

impl<'a> Report<'a> {
    /// What is behind "- name: ".
    pub(crate) fn item(&self, name: &str) -> Result<&'a str, String> {
        let start = format!("- {name}: ");
        let found = self.0.lines().find_map(|line| line.strip_prefix(&*start));
        found.map(str::trim).ok_or_else(|| format!("the report has no line {start:?}"))
    }

    /// The lines below a heading, up to the next.
    pub(crate) fn section(&self, title: &str) -> Option<&'a str> {
        let (_, behind) = self.0.split_once(&format!("\n## {title}\n"))?;
        Some(behind.split("\n## ").next().unwrap_or(behind))
    }

    /// The device's name, as of its maker.
    pub(crate) fn device(&self) -> Result<&'a str, String> {
        Ok(self.item("devices")?.split(',').next().unwrap_or_default())
    }

    pub(crate) fn date(&self) -> Result<&'a str, String> {
        Ok(self.item("date")?.split(' ').next().unwrap_or_default())
    }

    /// The driver's version.
    pub(crate) fn driver(&self) -> Result<&'a str, String> {
        let is_version =
            |word: &&str| word.contains('.') && word.chars().all(|c| c == '.' || c.is_ascii_digit());
        Ok(self.item("NVIDIA driver")?.split_whitespace().find(is_version).unwrap_or("unknown"))
    }

    /// The name of the device's page: the first word with a digit, as `h200`.
    pub(crate) fn name(&self) -> Result<String, String> {
        let device = self.device()?;
        let mut words = device.split(' ').filter(|word| word.chars().all(|c| c.is_ascii_alphanumeric()));
        let name = words.find(|word| word.contains(|c: char| c.is_ascii_digit()));
        name.map(str::to_lowercase).ok_or_else(|| format!("{device:?} is no device's name"))
    }

    /// The device's page: the items, and then all sections as they came.
    pub(crate) fn page(&self) -> Result<String, String> {
        if self.0.contains(STAND_IN) {
            return Err("the report is of a stand-in for a device".to_owned());
        }
        let (mut items, mut sections) = (Vec::new(), Vec::new());
        // Each program that has reported began with the items.
        let mut heads = 0;
        let mut in_head = true;
        for line in self.0.lines() {
            if line == HEAD {
                heads += 1;
                in_head = true;
            } else if line.starts_with("## ") {
                in_head = false;
            }
            if !in_head {
                sections.push(line);
            } else if heads == 1 && line.starts_with("- ") {
                items.push(line);
            }
        }
        let (items, sections) = (items.join("\n"), sections.join("\n"));
        Ok(format!("# {}\n\n{items}\n\n{}\n", self.device()?, sections.trim_end()))
    }

    /// The device's row in the table of all that were tried.
    pub(crate) fn row(&self) -> Result<String, String> {
        let summary = self.section("Summary").and_then(|section| section.lines().find(|it| !it.is_empty()));
        Ok(format!(
            "| {}, {} processors | {} | {} | {} | [{}](devices/{}.md) |",
            self.device()?,
            self.item("processors")?,
            self.date()?,
            self.item("commit")?,
            self.driver()?,
            summary.unwrap_or("no summary").trim_end_matches('.'),
            self.name()?
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As `run.sh` writes it.
    const REPORT: &str = include_str!("report_example.md");

    #[test]
    fn a_page_has_the_items_once_and_every_section() {
        let report = Report(REPORT);
        let page = report.page().unwrap();
        assert!(page.starts_with("# NVIDIA H200\n\n- date: "), "{page}");
        for once in
            ["\n- commit: ", "\n## Machine\n", "\n## Tests\n", "\n## Beside NVSHMEM\n", "\n## Steps\n"]
        {
            assert_eq!(page.matches(once).count(), 1, "{once}: {page}");
        }
        assert!(!page.contains(HEAD), "{page}");
        assert_eq!(report.name().unwrap(), "h200");
        assert!(
            report.row().unwrap().contains("| 580.159.04 | [2 tests passed"),
            "{}",
            report.row().unwrap()
        );
    }

    #[test]
    fn a_report_of_a_stand_in_is_refused() {
        let stand_in = REPORT.replace("## Machine", &format!("{STAND_IN}\n\n## Machine"));
        assert!(Report(&stand_in).page().is_err());
    }
}
