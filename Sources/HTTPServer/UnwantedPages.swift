internal import Glibc

/// Memory whose content nobody wants, in whole pages.
enum UnwantedPages {
  private static let size = sysconf(Int32(_SC_PAGESIZE))

  /// Gives the pages that lie wholly within `memory` back to the kernel. They are all zeros from then on, and take room again when somebody
  /// writes to them (madvise(2), MADV_DONTNEED).
  static func giveBack(_ memory: UnsafeMutableRawBufferPointer) {
    guard let base = memory.baseAddress else { return }
    let (start, end) = (Int(bitPattern: base), Int(bitPattern: base) + memory.count)
    let (first, last) = ((start + size - 1) / size * size, end / size * size)
    guard first < last else { return }
    madvise(UnsafeMutableRawPointer(bitPattern: first), last - first, MADV_DONTNEED)
  }
}
