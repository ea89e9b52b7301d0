internal import CLinux
internal import Glibc

/// Reads and writes of descriptors, in as many calls as they need.
package enum DescriptorTransfer {
  /// Writes all bytes.
  /// - Returns: `false` with errno if that is impossible.
  package static func writeAll(_ bytes: UnsafeRawBufferPointer, to descriptor: Int32) -> Bool {
    guard let start = bytes.baseAddress else { return true }
    var done = 0
    while done < bytes.count {
      let count = Glibc.write(descriptor, start + done, bytes.count - done)
      if count < 0, errno == EINTR { continue }
      guard count > 0 else { return false }
      done += count
    }
    return true
  }

  /// Writes all bytes.
  /// - Returns: `false` with errno if that is impossible.
  package static func writeAll(_ bytes: [UInt8], to descriptor: Int32) -> Bool {
    bytes.withUnsafeBytes { writeAll($0, to: descriptor) }
  }

  /// Reads the next bytes.
  /// - Parameter limit: the most bytes to read.
  /// - Returns: no bytes at the end; `nil` with errno on failure.
  package static func read(_ descriptor: Int32, upTo limit: Int) -> [UInt8]? {
    var count = 0
    let bytes = [UInt8](unsafeUninitializedCapacity: limit) { buffer, initialized in
      repeat {
        count = Glibc.read(descriptor, buffer.baseAddress, buffer.count)
      } while count < 0 && errno == EINTR
      initialized = max(0, count)
    }
    return count < 0 ? nil : bytes
  }
}
