//! Splits a shell script into simple commands: words, redirections, here-documents.
//!
//! It knows as much of the language as it takes not to mistake quoted text for files. What it does not know
//! (functions, loops, substitutions) passes as words that name no command it acts upon.

/// How a command hangs on the one before it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Joint {
    /// It runs whatever happened: a new line, `;`, `&`, `||`.
    #[default]
    Always,
    /// It runs only where the one before it worked: `&&`.
    And,
    /// It reads what the one before it writes: `|`.
    Pipe,
}

/// One simple command.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Command {
    /// Name and arguments, quotes removed.
    pub(super) words: Vec<String>,
    /// Files that its output goes to; `true` where it is appended.
    pub(super) outputs: Vec<(String, bool)>,
    /// The file that it reads from.
    pub(super) input: Option<String>,
    /// The text of its here-document.
    pub(super) document: Option<String>,
    /// How it hangs on the one before it.
    pub(super) joint: Joint,
}

/// The simple commands of a script, in order.
pub(super) fn commands(script: &str) -> Vec<Command> {
    let mut reader =
        Reader { script, at: 0, commands: Vec::new(), open: Command::default(), waiting: Vec::new() };
    reader.run();
    reader.commands
}

struct Reader<'s> {
    script: &'s str,
    at: usize,
    commands: Vec<Command>,
    open: Command,
    /// Here-documents whose text starts after this line: the command's number and the word that ends it.
    waiting: Vec<(usize, String)>,
}

impl<'s> Reader<'s> {
    fn run(&mut self) {
        while let Some(next) = self.peek() {
            match next {
                ' ' | '\t' | '\r' => self.at += 1,
                '\n' => {
                    self.at += 1;
                    self.close(Joint::Always);
                    self.documents();
                }
                '#' => self.skip_line(),
                ';' | '(' | ')' => {
                    self.at += 1;
                    self.close(Joint::Always);
                }
                '&' if self.eat("&&") => self.close(Joint::And),
                '&' if self.rest().starts_with("&>") => {
                    self.at += 1;
                    self.redirect();
                }
                '&' => {
                    self.at += 1;
                    self.close(Joint::Always);
                }
                '|' if self.eat("||") => self.close(Joint::Always),
                '|' => {
                    self.at += 1;
                    self.close(Joint::Pipe);
                }
                '>' | '<' => self.redirect(),
                '0'..='9' if matches!(self.rest().as_bytes().get(1), Some(b'>' | b'<')) => {
                    self.at += 1;
                    self.redirect();
                }
                _ => {
                    let word = self.word();
                    self.open.words.push(word);
                }
            }
        }
        self.close(Joint::Always);
    }

    fn rest(&self) -> &'s str {
        self.script.get(self.at..).unwrap_or_default()
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn eat(&mut self, token: &str) -> bool {
        let found = self.rest().starts_with(token);
        if found {
            self.at += token.len();
        }
        found
    }

    fn skip_line(&mut self) {
        self.at += self.rest().find('\n').unwrap_or(self.rest().len());
    }

    fn close(&mut self, next: Joint) {
        let joint = self.open.joint;
        let done = std::mem::take(&mut self.open);
        let empty = done.words.is_empty() && done.outputs.is_empty() && done.document.is_none();
        if empty {
            // `a &&` at the end of a line goes on in the next.
            self.open.joint = if next == Joint::Always { joint } else { next };
        } else {
            self.commands.push(done);
            self.open.joint = next;
        }
    }

    fn redirect(&mut self) {
        let heredoc = self.rest().starts_with("<<") && !self.rest().starts_with("<<<");
        if heredoc {
            self.at += if self.rest().starts_with("<<-") { 3 } else { 2 };
            self.blanks();
            let end = self.word();
            self.waiting.push((self.commands.len(), end));
            return;
        }
        let (token, append) = match self.rest() {
            rest if rest.starts_with("<<<") => ("<<<", false),
            rest if rest.starts_with(">>") => (">>", true),
            rest if rest.starts_with(">|") => (">|", false),
            rest if rest.starts_with('>') => (">", false),
            _ => ("<", false),
        };
        self.at += token.len();
        // `2>&1` duplicates a stream, `<(…)` and `>(…)` are commands: neither names a file.
        if self.peek() == Some('&') || self.peek() == Some('(') {
            if self.peek() == Some('&') {
                self.at += 1;
                self.word();
            }
            return;
        }
        self.blanks();
        let file = self.word();
        match token {
            "<<<" => {}
            "<" => self.open.input = Some(file),
            _ => self.open.outputs.push((file, append)),
        }
    }

    fn blanks(&mut self) {
        while matches!(self.peek(), Some(' ' | '\t')) {
            self.at += 1;
        }
    }

    // Always moves on by at least one character unless the script is at its end.
    fn word(&mut self) -> String {
        let mut word = String::new();
        while let Some(next) = self.peek() {
            match next {
                '\'' => word.push_str(self.quoted('\'')),
                '"' => self.double(&mut word),
                '\\' => {
                    self.at += 1;
                    if let Some(escaped) = self.peek() {
                        self.at += escaped.len_utf8();
                        if escaped != '\n' {
                            word.push(escaped);
                        }
                    }
                }
                ' ' | '\t' | '\r' | '\n' | ';' | '|' | '&' | '>' | '<' | '(' | ')' => break,
                other => {
                    self.at += other.len_utf8();
                    word.push(other);
                }
            }
        }
        word
    }

    fn quoted(&mut self, quote: char) -> &'s str {
        self.at += quote.len_utf8();
        let rest = self.rest();
        let end = rest.find(quote).unwrap_or(rest.len());
        self.at += (end + quote.len_utf8()).min(rest.len());
        &rest[..end]
    }

    fn double(&mut self, word: &mut String) {
        self.at += 1;
        while let Some(next) = self.peek() {
            self.at += next.len_utf8();
            match next {
                '"' => return,
                '\\' => {
                    let Some(escaped) = self.peek() else { return };
                    self.at += escaped.len_utf8();
                    if !matches!(escaped, '"' | '\\' | '$' | '`' | '\n') {
                        word.push('\\');
                    }
                    if escaped != '\n' {
                        word.push(escaped);
                    }
                }
                other => word.push(other),
            }
        }
    }

    // The texts of the here-documents that the line before announced.
    fn documents(&mut self) {
        for (command, end) in std::mem::take(&mut self.waiting) {
            let start = self.at;
            let mut stop = self.script.len();
            for line in self.rest().split_inclusive('\n') {
                let here = self.at;
                self.at += line.len();
                if line.trim() == end {
                    stop = here;
                    break;
                }
            }
            let text = self.script.get(start..stop).unwrap_or_default();
            if let Some(command) = self.commands.get_mut(command) {
                command.document = Some(text.to_owned());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape(script: &str) -> String {
        let joint = |joint| match joint {
            Joint::Always => "; ",
            Joint::And => "&& ",
            Joint::Pipe => "| ",
        };
        let mut shape = String::new();
        for (number, command) in commands(script).into_iter().enumerate() {
            shape.push_str(if number > 0 { " " } else { "" });
            shape.push_str(if number > 0 { joint(command.joint) } else { "" });
            shape.push_str(&command.words.join("~"));
            for (file, append) in command.outputs {
                shape.push_str(&format!("{}{file}", if append { ">>" } else { ">" }));
            }
            if let Some(file) = command.input {
                shape.push_str(&format!("<{file}"));
            }
            if let Some(text) = command.document {
                shape.push_str(&format!("<<{}", text.len()));
            }
        }
        shape
    }

    #[test]
    fn scripts_fall_into_commands() {
        let cases = [
            ("", ""),
            ("ls -la", "ls~-la"),
            ("a && b || c; d & e", "a && b ; c ; d ; e"),
            ("a &&\n b", "a && b"),
            ("a | b > out 2>&1", "a | b>out"),
            ("echo 'a > b; c' \"d | $e\"", "echo~a > b; c~d | $e"),
            ("echo \\\"x\\ y", "echo~\"x y"),
            ("cat <<'EOF' > f.txt\na > b\nEOF\nls", "cat>f.txt<<6 ; ls"),
            ("cat > f <<-X && ls\n\tone\n\tX\npwd", "cat>f<<5 && ls ; pwd"),
            ("cat <<A <<B\n1\nA\n2\nB\nls", "cat<<2 ; ls"),
            ("x &> log", "x>log"),
            ("x >> log 2>err", "x>>log>err"),
            ("sort < in > out", "sort>out<in"),
            ("grep x <<< 'word'", "grep~x"),
            ("# note\nls # more", "ls"),
            ("diff <(a) <(b)", "diff ; a ; b"),
            ("echo 'never closed", "echo~never closed"),
            ("cat <<EOF\nnever closed", "cat<<12"),
            ("echo 漢字 > é.txt", "echo~漢字>é.txt"),
            ("echo \"a\\nb\" \"\\", "echo~a\\nb~"),
            (">", ">"),
            ("<<", ""),
        ];
        for (script, expected) in cases {
            assert_eq!(shape(script), expected, "{script}");
        }
    }
}
