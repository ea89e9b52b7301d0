public import FoundationEssentials
internal import Synchronization

/// A body that is read while Ferry sends it. It replaces `InputStream` of Apple's Foundation.
public struct FerryBodyStream: Sendable, Hashable {
  /// The reader of one body. Streams are equal if they share it.
  private final class Reader: Sendable {
    let next: @Sendable () async throws -> Data?
    init(_ next: @escaping @Sendable () async throws -> Data?) { self.next = next }
  }

  private let reader: Reader
  /// The number of bytes; `nil` if it is unknown.
  public let length: Int64?

  /// Creates a stream.
  /// - Parameters:
  ///   - length: the number of bytes; `nil` if it is unknown.
  ///   - next: returns the next bytes, or `nil` at the end. An error ends the task with `FerryError.requestBodyStreamExhausted`.
  public init(length: Int64? = nil, next: @escaping @Sendable () async throws -> Data?) {
    self.length = length
    reader = Reader(next)
  }

  /// Creates a stream of bytes in memory.
  public init(data: Data) {
    let rest = Mutex<Data?>(data)
    self.init(length: Int64(data.count)) {
      rest.withLock { rest in
        defer { rest = nil }
        return rest?.isEmpty == false ? rest : nil
      }
    }
  }

  /// Returns the next bytes; `nil` at the end.
  func next() async throws -> Data? { try await reader.next() }

  /// Whether both are the same object.
  public static func == (left: Self, right: Self) -> Bool { left.reader === right.reader }
  /// Hashes the identity.
  public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(reader)) }
}
