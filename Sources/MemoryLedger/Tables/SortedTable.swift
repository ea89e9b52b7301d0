package import TransferModel

/// A value whose size in memory is estimated, in bytes.
package protocol MemorySized: Sendable {
  var memorySize: Int { get }
}

/// Rows sorted by key, in chunks of a bounded size. Lookup is a binary search. A change moves at most one chunk and the list of chunks.
package struct SortedTable<Key: Comparable & Sendable, Row: MemorySized>: Sendable {
  package typealias Element = (key: Key, row: Row)

  private static var chunkSize: Int { 64 }
  /// The size of a row's key and of a chunk's spare capacity per row, in bytes.
  private static var overhead: Int { MemoryLayout<Key>.stride + MemoryLayout<Element>.stride / 2 }

  /// The chunks, none of which is empty.
  private var chunks: [[Element]] = []
  package private(set) var count = 0
  /// The size of all rows, in bytes.
  private(set) var memorySize = 0

  package init() {}

  package var isEmpty: Bool { chunks.isEmpty }
  package var first: Element? { chunks.first?.first }
  package var last: Element? { chunks.last?.last }

  package subscript(key: Key) -> Row? {
    find(key).map { chunks[$0.chunk][$0.offset].row }
  }

  package func contains(_ key: Key) -> Bool { find(key) != nil }

  package mutating func set(_ row: Row, for key: Key) {
    memorySize += row.memorySize + Self.overhead
    if let place = find(key) {
      memorySize -= chunks[place.chunk][place.offset].row.memorySize + Self.overhead
      chunks[place.chunk][place.offset].row = row
      return
    }
    count += 1
    guard let last, last.key > key else { return append((key, row)) }
    let chunk = max(0, chunks.partition { $0[0].key <= key } - 1)
    chunks[chunk].insert((key, row), at: chunks[chunk].partition { $0.key < key })
    if chunks[chunk].count > Self.chunkSize { split(chunk) }
  }

  private mutating func append(_ element: Element) {
    if let count = chunks.last?.count, count < Self.chunkSize {
      chunks[chunks.count - 1].append(element)
    } else {
      chunks.append([element])
    }
  }

  private mutating func split(_ chunk: Int) {
    let half = chunks[chunk].count / 2
    let end = Array(chunks[chunk][half...])
    chunks[chunk].removeSubrange(half...)
    chunks.insert(end, at: chunk + 1)
  }

  /// Changes a row, if it exists.
  package mutating func change(_ key: Key, _ body: (inout Row) -> Void) {
    guard let place = find(key) else { return }
    memorySize -= chunks[place.chunk][place.offset].row.memorySize
    body(&chunks[place.chunk][place.offset].row)
    memorySize += chunks[place.chunk][place.offset].row.memorySize
  }

  @discardableResult
  package mutating func remove(_ key: Key) -> Row? {
    guard let place = find(key) else { return nil }
    let row = chunks[place.chunk].remove(at: place.offset).row
    if chunks[place.chunk].isEmpty { chunks.remove(at: place.chunk) }
    memorySize -= row.memorySize + Self.overhead
    count -= 1
    return row
  }

  package mutating func remove(_ keys: some Sequence<Key>) {
    for key in keys { remove(key) }
  }

  private func find(_ key: Key) -> (chunk: Int, offset: Int)? {
    let chunk = chunks.partition { $0[0].key <= key } - 1
    guard chunk >= 0 else { return nil }
    let offset = chunks[chunk].partition { $0.key < key }
    guard offset < chunks[chunk].count, chunks[chunk][offset].key == key else { return nil }
    return (chunk, offset)
  }

  // MARK: In order

  /// The rows from a position on, in order.
  package struct Rows: Sequence, IteratorProtocol {
    fileprivate let chunks: [[Element]]
    fileprivate var chunk: Int
    fileprivate var offset: Int

    package mutating func next() -> Element? {
      while chunk < chunks.count {
        if offset < chunks[chunk].count {
          defer { offset += 1 }
          return chunks[chunk][offset]
        }
        (chunk, offset) = (chunk + 1, 0)
      }
      return nil
    }
  }

  /// Returns the rows after `key`, or all rows for `nil`.
  package func all(after key: Key? = nil) -> Rows {
    guard let key else { return Rows(chunks: chunks, chunk: 0, offset: 0) }
    let chunk = max(0, chunks.partition { $0[0].key <= key } - 1)
    let offset = chunks.isEmpty ? 0 : chunks[chunk].partition { $0.key <= key }
    return Rows(chunks: chunks, chunk: chunk, offset: offset)
  }

  /// Returns the rows after `key` in an order of ascending or descending keys, or all rows for `nil`.
  package func all(in order: ListOrder, after key: Key?) -> AnySequence<Element> {
    guard order == .newest else { return AnySequence(all(after: key)) }
    return AnySequence(
      chunks.joined().reversed().lazy.drop { element in key.map { element.key >= $0 } ?? false })
  }

  /// Returns the last row at or before `key`.
  package func last(through key: Key) -> Element? {
    let chunk = chunks.partition { $0[0].key <= key } - 1
    guard chunk >= 0 else { return nil }
    return chunks[chunk][chunks[chunk].partition { $0.key <= key } - 1]
  }
}

/// The row of an index, which consists of keys only.
package struct IndexEntry: MemorySized {
  package var memorySize: Int { 0 }
  package init() {}
}

/// Sorted keys.
package typealias SortedKeys<Key: Comparable & Sendable> = SortedTable<Key, IndexEntry>

extension SortedTable where Row == IndexEntry {
  package mutating func insert(_ key: Key) { set(IndexEntry(), for: key) }
}

extension Array {
  /// Returns the index of the first element for which `isBefore` is false. All elements for which it is true must precede.
  fileprivate func partition(_ isBefore: (Element) -> Bool) -> Int {
    var (low, high) = (0, count)
    while low < high {
      let middle = (low + high) / 2
      if isBefore(self[middle]) { low = middle + 1 } else { high = middle }
    }
    return low
  }
}
