//! Text inside of HTML and SVG.

/// Text that begins no tag and no entity, whatever it is.
pub(crate) fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
