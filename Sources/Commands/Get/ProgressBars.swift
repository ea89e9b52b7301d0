/// The lines that show running transfers on a terminal.
struct ProgressBars {
  /// The most bars; further files are only counted.
  static let maximumBars = 12

  let columns: Int
  let rows: Int

  /// - Parameter now: the time in seconds since 1970.
  func lines(_ board: TransferBoard, at now: Double, _ colors: Colors) -> [String] {
    let active = board.activeItems
    let shown = active.prefix(max(1, min(Self.maximumBars, rows - 2)))
    var lines = shown.map { line($0, at: now) }
    if board.items.count > 1 { lines.append(StyledText(total(board, running: active.count))) }
    // The last cell stays free, because some terminals wrap there.
    return lines.map { $0.fitted(to: max(1, columns - 1)).text(colors) }
  }

  private func line(_ item: TransferItem, at now: Double) -> StyledText {
    if case .waiting(let wait) = item.state {
      let name = PlainText.fitted(item.shownName, to: max(8, columns / 3))
      guard columns >= 24 else { return StyledText("\(name) ") + StyledText("waits", .waiting) }
      return StyledText("\(name)  ") + StyledText(wait.text(at: now), .waiting)
    }
    return StyledText(
      bar(item.shownName, received: item.received, expected: item.expected, rate: item.rate.rate))
  }

  private func total(_ board: TransferBoard, running: Int) -> String {
    let failed = board.items.failedCount
    let counts = "\(board.endedCount)/\(board.items.count) files" + (failed > 0 ? ", \(failed) failed" : "")
    return bar(
      counts, received: board.items.receivedBytes, expected: board.items.expectedBytes, rate: board.total.rate
    )
  }

  /// Draws a name with a bar, in fewer parts if the terminal is narrower.
  private func bar(_ name: String, received: Int64, expected: Int64?, rate: Double) -> String {
    let width = max(1, columns - 1)
    let part = expected.flatMap { $0 > 0 ? min(1, Double(received) / Double($0)) : nil }
    let percent = part.map { Self.right("\(Int($0 * 100))%", to: 4) } ?? "   –"
    guard width >= 24 else { return PlainText.padded(name, to: max(0, width - 5)) + " " + percent }
    let speed = Self.right(rate > 0 ? Quantities.bytes(Int64(rate)) + "/s" : "", to: 12)
    guard width >= 44 else { return PlainText.padded(name, to: width - 18) + " " + percent + " " + speed }
    var left = "--:--"
    if let expected, rate > 0 { left = Quantities.clock(Double(max(0, expected - received)) / rate) }
    let count = width >= 64 ? Self.right(Quantities.bytes(received), to: 10) + " " : ""
    let end = " \(percent) \(count)\(speed) \(Self.right(left, to: 7))"
    let rest = width - PlainText.width(end)
    guard rest >= 32 else { return PlainText.padded(name, to: max(1, rest)) + end }
    let nameWidth = min(max(16, rest / 2), 48)
    return PlainText.padded(name, to: nameWidth) + " " + Self.gauge(part, width: rest - nameWidth - 1) + end
  }

  private static func gauge(_ part: Double?, width: Int) -> String {
    let inner = max(0, width - 2)
    let filled = part.map { Int($0 * Double(inner)) } ?? 0
    return "[" + String(repeating: "#", count: filled) + String(repeating: ".", count: inner - filled) + "]"
  }

  private static func right(_ text: String, to cells: Int) -> String {
    String(repeating: " ", count: max(0, cells - PlainText.width(text))) + text
  }
}
