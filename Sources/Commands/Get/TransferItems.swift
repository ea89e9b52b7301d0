/// The files of one `ferry get`, with sums that need no pass over all of them.
struct TransferItems: MutableCollection, RandomAccessCollection, Sendable {
  private var items: [TransferItem]
  private(set) var doneCount = 0
  private(set) var failedCount = 0
  private(set) var receivedBytes: Int64 = 0
  private var knownBytes: Int64 = 0
  private var unknownSizes = 0

  init(_ items: [TransferItem]) {
    self.items = items
    for item in items { count(item, 1) }
  }

  /// The bytes of all files that have not failed; `nil` if the size of one is unknown.
  var expectedBytes: Int64? { unknownSizes == 0 ? knownBytes : nil }

  var startIndex: Int { 0 }
  var endIndex: Int { items.count }

  subscript(index: Int) -> TransferItem {
    get { items[index] }
    set {
      count(items[index], -1)
      items[index] = newValue
      count(newValue, 1)
    }
  }

  /// - Parameter times: 1 to add the item to the sums, -1 to remove it.
  private mutating func count(_ item: TransferItem, _ times: Int) {
    receivedBytes += Int64(times) * item.received
    switch item.state {
    case .done: doneCount += times
    case .failed:
      failedCount += times
      return
    default: break
    }
    if let size = item.expected { knownBytes += Int64(times) * size } else { unknownSizes += times }
  }
}
