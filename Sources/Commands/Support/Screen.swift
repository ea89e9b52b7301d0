internal import EventLoop
internal import Glibc

/// The alternate screen of a terminal, with keys that arrive one by one.
final class Screen: Sendable {
  private let saved: termios

  /// Takes the terminal; `nil` if standard input or output is none, or the cursor does not move.
  init?() {
    var modes = termios()
    guard isatty(0) == 1, Terminal.isOutput, Terminal.movesCursor(), tcgetattr(0, &modes) == 0 else {
      return nil
    }
    saved = modes
    modes.c_lflag &= ~tcflag_t(ECHO | ICANON | ISIG)
    tcsetattr(0, TCSAFLUSH, &modes)
    write("\u{1B}[?1049h\u{1B}[?25l")
  }

  /// Gives the terminal back as it was.
  func restore() {
    write("\u{1B}[?25h\u{1B}[?1049l")
    var modes = saved
    tcsetattr(0, TCSAFLUSH, &modes)
  }

  func draw(_ lines: [String]) {
    write("\u{1B}[H" + lines.map { $0 + "\u{1B}[K" }.joined(separator: "\r\n") + "\u{1B}[J")
  }

  /// Passes each key to `action`, on a thread of its own. Arrows are the keys j and k.
  func readKeys(_ action: @escaping @Sendable (Character) -> Void) {
    POSIXThread.spawn(name: "keys") {
      var byte: UInt8 = 0
      var escape: [UInt8] = []
      while true {
        let count = read(0, &byte, 1)
        if count < 0, errno == EINTR { continue }
        guard count == 1 else { return action("q") }
        escape = byte == 0x1B || !escape.isEmpty ? escape + [byte] : []
        guard escape.isEmpty || escape.count == 3 else { continue }
        switch escape.isEmpty ? byte : escape[2] {
        case UInt8(ascii: "A") where !escape.isEmpty: action("k")
        case UInt8(ascii: "B") where !escape.isEmpty: action("j")
        case let byte where escape.isEmpty: action(Character(Unicode.Scalar(byte)))
        default: break
        }
        escape = []
      }
    }
  }

  private func write(_ text: String) { StandardOutput.write(Array(text.utf8)) }
}
