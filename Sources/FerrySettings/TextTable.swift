/// A text table with three columns.
enum TextTable {
  static func lines(_ rows: [[String]]) -> String {
    // Column widths are capped, so that one long cell does not shift the whole next column.
    let widths = [0, 1].map { column in min(60, rows.map { $0[column].count }.max() ?? 0) }
    return rows.map { cells in
      let padded = zip(cells, widths).map { cell, width in
        cell + String(repeating: " ", count: max(0, width - cell.count))
      }
      return (padded + [cells[2]]).joined(separator: "  ") + "\n"
    }.joined()
  }
}
