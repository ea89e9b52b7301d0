/// Rows of texts in columns, as kubectl prints them: headers always, columns separated by three blanks. Only on a terminal the last column is
/// shortened to the width.
struct AlignedTable {
  private let header: [String]
  private var rows: [[String]] = []

  init(_ header: [String]) { self.header = header }

  mutating func append(_ row: [String]) { rows.append(row.map(PlainText.safe)) }

  /// - Parameter width: the cells of a line; `nil` for no limit.
  func lines(width: Int?) -> [String] {
    let all = [header] + rows
    var widths = header.indices.map { column in all.map { PlainText.width($0[column]) }.max() ?? 0 }
    widths[widths.count - 1] = 0
    return all.map { row in
      var line = ""
      for (column, text) in row.enumerated() {
        line += column == row.count - 1 ? text : PlainText.padded(text, to: widths[column]) + "   "
      }
      while line.hasSuffix(" ") { line.removeLast() }
      return width.map { PlainText.fitted(line, to: $0) } ?? line
    }
  }
}
