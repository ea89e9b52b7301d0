internal import HTTPFields

/// Which responses may be stored (RFC 9111 §3, and Apple's rules: a success, not larger than a part of the cache).
package enum Storability {
  /// One entry may take this part of a cache.
  package static let largestPart: Int64 = 20

  /// Whether an answer, and so much of its body as came, may be stored.
  package static func mayStore(
    _ request: CacheRequest, _ head: CacheResponseHead, size: Int64, isComplete: Bool = true
  ) -> Bool {
    guard request.method == "GET", (200...299).contains(head.status), head.status != imUsed,
      permits(request, head), Vary.names(head.headers) != nil, isUsable(head)
    else { return false }
    return isComplete && head.status != 206 || mayStorePart(head, size: size, isComplete: isComplete)
  }

  /// Whether anything of an answer may be kept, be it new fields of what is stored (§5.2.1.5, §5.2.2.5).
  package static func permits(_ request: CacheRequest, _ head: CacheResponseHead) -> Bool {
    guard !request.control.noStore else { return false }
    // Where the status is understood, must-understand outdoes no-store (§5.2.2.3).
    guard head.control.mustUnderstand else { return !head.control.noStore }
    return (200...206).contains(head.status) || head.status == 304
  }

  /// Made for a request that named an instance manipulation (RFC 3229 §10.4.1), which others do not.
  private static let imUsed = 226

  /// There is a lifetime, or something to ask about later.
  private static func isUsable(_ head: CacheResponseHead) -> Bool {
    head.control.maxAge != nil || head.headers.contains("Expires")
      || !Validators.conditions(head.headers).isEmpty
  }

  /// A part is of use where the rest can be asked for (§3.3).
  private static func mayStorePart(_ head: CacheResponseHead, size: Int64, isComplete: Bool) -> Bool {
    guard size > 0, CachedResponse.isPlain(head.headers),
      Validators.strong(head.headers, now: head.responseTime) != nil
    else { return false }
    if head.status == 206 {
      guard let range = ByteRange(contentRange: head.headers.unambiguous("Content-Range")) else {
        return false
      }
      return isComplete ? range.count == size : size < range.count
    }
    let ranges = head.headers["Accept-Ranges"] ?? "bytes"
    return head.status == 200 && !HTTPHeaders.equal(ranges, "none")
  }

  /// Whether a body is small enough, for the disk or, where there is none, for the memory.
  package static func fits(_ size: Int64, memoryCapacity: Int64, diskCapacity: Int64?) -> Bool {
    size <= (diskCapacity ?? memoryCapacity) / largestPart
  }
}
