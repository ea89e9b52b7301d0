internal import CLinux
internal import CMicroHTTPD
internal import Glibc

/// The buffer of a stream, which mostly waits and sends little at a time. libmicrohttpd gives it the whole memory of its connection and
/// fills half of that with zeros. These pages are not needed while the stream waits.
struct StreamBuffer {
  /// The number of written bytes up to which the stream keeps its pages.
  static let kept = 4096
  private static let pageSize = sysconf(Int32(_SC_PAGESIZE))
  /// The longest write in bytes since the pages were released. Before the first release the content of the pages is unknown.
  private var written = Int.max

  mutating func write(_ bytes: [UInt8], into buffer: UnsafeMutableRawBufferPointer) {
    buffer.copyBytes(from: bytes)
    written = max(written, bytes.count)
  }

  /// Releases the pages, because the stream waits and has sent its buffer.
  mutating func releasePages(_ buffer: UnsafeMutableRawBufferPointer) {
    guard written > Self.kept else { return }
    written = 0
    Self.giveBack(buffer)
  }

  /// Releases the pages that lie completely within `memory` to the kernel. They read as zeros, and use memory again after a write
  /// (madvise(2), MADV_DONTNEED).
  private static func giveBack(_ memory: UnsafeMutableRawBufferPointer) {
    guard let base = memory.baseAddress else { return }
    let (start, end) = (Int(bitPattern: base), Int(bitPattern: base) + memory.count)
    let (first, last) = ((start + pageSize - 1) / pageSize * pageSize, end / pageSize * pageSize)
    guard first < last else { return }
    madvise(UnsafeMutableRawPointer(bitPattern: first), last - first, MADV_DONTNEED)
  }
}
