internal import Limits

extension FerrySession.AsyncBytes {
  /// The lines of the body in UTF-8, without their ends (LF, or CR LF). `AsyncBytes.lines` in Apple's Foundation.
  ///
  /// A line of more than 16 MiB ends the sequence with `FerryError.dataLengthExceedsMaximum`.
  public var lines: Lines { Lines(bytes: self) }

  /// The lines of a body.
  public struct Lines: AsyncSequence, Sendable {
    /// One line.
    public typealias Element = String
    let bytes: FerrySession.AsyncBytes

    /// Returns the reader.
    public func makeAsyncIterator() -> Iterator { Iterator(bytes: bytes.makeAsyncIterator()) }

    /// The reader of lines.
    public struct Iterator: AsyncIteratorProtocol {
      private var bytes: FerrySession.AsyncBytes.Iterator
      init(bytes: FerrySession.AsyncBytes.Iterator) { self.bytes = bytes }

      /// Returns the next line; `nil` at the end.
      public mutating func next() async throws -> String? {
        var line: [UInt8] = []
        while let byte = try await bytes.next() {
          guard byte != UInt8(ascii: "\n") else {
            if line.last == UInt8(ascii: "\r") { line.removeLast() }
            return String(decoding: line, as: UTF8.self)
          }
          line.append(byte)
          guard line.count <= ClientLimits.bodyLineBytes.value else {
            throw FerryError(
              .dataLengthExceedsMaximum, message: "a line exceeds \(ClientLimits.bodyLineBytes.value) bytes",
              failingURL: self.bytes.task.originalRequest?.url)
          }
        }
        return line.isEmpty ? nil : String(decoding: line, as: UTF8.self)
      }
    }
  }
}
