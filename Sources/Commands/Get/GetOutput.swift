internal import EventLoop
internal import JSON

/// The output of `ferry get`: bars on a terminal, otherwise one line a file or one JSON object a line.
struct GetOutput {
  enum Form { case bars, lines, json, quiet }

  let form: Form
  /// The prefix that displays leave out of paths, with its slash.
  let base: String
  /// The colours of standard error.
  let colors: Colors
  /// The first failed write of standard output.
  private(set) var failure: CommandFailure?
  private var drawn = 0

  init(_ form: Form, base: String, _ colors: Colors) {
    self.form = form
    self.base = base
    self.colors = colors
  }

  private mutating func write(_ bytes: [UInt8]) {
    do throws(CommandFailure) { try CommandOutput.write(bytes) } catch { failure = failure ?? error }
  }

  /// Reports a change of an item.
  mutating func show(_ item: TransferItem, _ board: TransferBoard, at now: Double) {
    if form == .json { return write(Array((PlainText.safe(json: Self.json(item)) + "\n").utf8)) }
    guard let line = line(item, at: now) else { return }
    clear()
    StandardError.write(Array((line.text(colors) + "\n").utf8))
    draw(board, at: now)
  }

  private func line(_ item: TransferItem, at now: Double) -> StyledText? {
    let url = PlainText.safe(item.url)
    func line(_ word: String, _ role: Colors.Role, _ rest: String) -> StyledText {
      StyledText(word, role) + StyledText(" " + rest)
    }
    switch item.state {
    // The reader of standard output has gone.
    case .failed(let failure) where failure.cause == .closedPipe: return nil
    case .failed(let failure): return line("failed", .failure, "\(url): \(PlainText.safe(failure.message))")
    case _ where form == .quiet: return nil
    case .done(let file):
      return line("saved", .success, "\(shown(file.path)) (\(Quantities.bytes(file.size)))")
    case .skipped(let file): return line("skipped", .secondary, "\(shown(file.path)): it is complete")
    case .waiting(let wait) where form == .lines:
      return line("waiting", .waiting, "\(url): \(wait.text(at: now))")
    default: return nil
    }
  }

  private func shown(_ path: String) -> String {
    PlainText.safe(path.hasPrefix(base) ? String(path.dropFirst(base.count)) : path)
  }

  /// Draws the bars in the place of the earlier ones.
  mutating func draw(_ board: TransferBoard, at now: Double) {
    guard form == .bars else { return }
    let size = Terminal.size(2)
    let lines = ProgressBars(columns: size.columns, rows: size.rows).lines(board, at: now, colors)
    let text = erase + lines.map { $0 + "\n" }.joined()
    StandardError.write(Array(text.utf8))
    drawn = lines.count
  }

  mutating func clear() {
    guard form == .bars, drawn > 0 else { return }
    StandardError.write(Array(erase.utf8))
    drawn = 0
  }

  /// Moves to the first bar and erases all of them.
  private var erase: String { drawn > 0 ? "\u{1B}[\(drawn)A\r\u{1B}[J" : "" }

  /// Reports the end of the command.
  mutating func finish(_ board: TransferBoard) {
    clear()
    guard form == .json else { return }
    var writer = JSONWriter()
    writer.object { writer in
      writer.field("event", "summary")
      writer.field("files", Int64(board.items.count))
      writer.field("done", Int64(board.items.doneCount))
      writer.field("failed", Int64(board.items.failedCount))
      writer.field("bytes", board.items.receivedBytes)
    }
    write(writer.bytes + [0x0A])
  }

  private static func json(_ item: TransferItem) -> [UInt8] {
    var writer = JSONWriter()
    writer.object { writer in
      func place(_ event: String, _ file: TransferItem.PlacedFile) {
        writer.field("event", event)
        writer.field("file", file.path)
        writer.field("size", file.size)
        writer.field("sha256", file.sha256)
      }
      switch item.state {
      case .done(let file): place("done", file)
      case .skipped(let file): place("skipped", file)
      case .failed(let failure):
        writer.field("event", "failed")
        writer.field("cause", failure.cause.name)
        writer.field("message", failure.message)
      case .waiting(let wait):
        writer.field("event", "waiting")
        writer.field("retry", wait.retry)
        writer.field("reason", wait.reason)
      default: writer.field("event", "changed")
      }
      writer.field("url", item.url)
      writer.field("task", item.task)
    }
    return writer.bytes
  }
}

extension CommandFailure.Cause {
  /// The name in JSON.
  var name: String {
    switch self {
    case .network: "network"
    case .unreachable: "unreachable"
    case .file: "file"
    case .status: "status"
    case .mismatch: "mismatch"
    case .refused: "refused"
    case .timedOut: "timedOut"
    case .usage: "usage"
    case .settings: "settings"
    case .interrupted: "interrupted"
    case .closedPipe: "closedPipe"
    }
  }
}
