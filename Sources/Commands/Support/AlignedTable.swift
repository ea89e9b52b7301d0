/// Rows of texts in columns, as kubectl prints them: headers always, columns separated by three blanks. Only on a terminal the last column is
/// shortened to the width.
struct AlignedTable {
  private let header: [String]
  /// The column whose states have colours.
  private let states: Int?
  private var rows: [[String]] = []

  /// - Parameter states: the header of the column whose states have colours.
  init(_ header: [String], states: String? = nil) {
    self.header = header
    self.states = states.flatMap { header.firstIndex(of: $0) }
  }

  mutating func append(_ row: [String]) { rows.append(row.map(PlainText.safe)) }

  /// - Parameter width: the cells of a line; `nil` for no limit.
  func lines(width: Int?, _ colors: Colors) -> [String] {
    let all = [header] + rows
    var widths = header.indices.map { column in all.map { PlainText.width($0[column]) }.max() ?? 0 }
    widths[widths.count - 1] = 0
    return all.enumerated().map { number, row in
      var line = StyledText("")
      for (column, text) in row.enumerated() {
        let role = number == 0 ? .secondary : column == states ? Colors.Role(state: text) : nil
        let gap = column == row.count - 1 ? 0 : widths[column] - PlainText.width(text) + 3
        line = line + StyledText(text, role) + StyledText(String(repeating: " ", count: gap))
      }
      line = line.trimmed()
      return (width.map { line.fitted(to: $0) } ?? line).text(colors)
    }
  }
}
