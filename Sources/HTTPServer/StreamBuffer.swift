internal import CLinux
internal import CMicroHTTPD
internal import Glibc

/// The buffer of a stream, which waits long and has little to say at a time. libmicrohttpd gives it all the memory of its connection, and
/// has filled half of that with zeros: pages that nobody needs while the stream waits.
struct StreamBuffer {
  /// So many bytes are left to the stream.
  static let kept = 4096
  private static let pageSize = sysconf(Int32(_SC_PAGESIZE))
  /// Bytes of the longest part since the pages were given back; before that, nobody knows what stands in them.
  private var written = Int.max

  mutating func write(_ bytes: [UInt8], into buffer: UnsafeMutableRawBufferPointer) {
    buffer.copyBytes(from: bytes)
    written = max(written, bytes.count)
  }

  /// The stream waits: what is in its buffer was sent.
  mutating func rest(_ buffer: UnsafeMutableRawBufferPointer) {
    guard written > Self.kept else { return }
    written = 0
    Self.giveBack(buffer)
  }

  /// Gives the pages that lie wholly within `memory` back to the kernel. They are all zeros from then on, and take room again when somebody
  /// writes to them (madvise(2), MADV_DONTNEED).
  private static func giveBack(_ memory: UnsafeMutableRawBufferPointer) {
    guard let base = memory.baseAddress else { return }
    let (start, end) = (Int(bitPattern: base), Int(bitPattern: base) + memory.count)
    let (first, last) = ((start + pageSize - 1) / pageSize * pageSize, end / pageSize * pageSize)
    guard first < last else { return }
    madvise(UnsafeMutableRawPointer(bitPattern: first), last - first, MADV_DONTNEED)
  }
}
