internal import HTTPFields

/// The rules for which responses may be stored: RFC 9111 §3, and Apple's (only a success, not larger than a twentieth of the cache).
package enum Storability {
  /// The divisor of the capacity that limits the size of one entry.
  package static let largestPart: Int64 = 20

  /// Whether a response with the received part of its body may be stored.
  package static func mayStore(
    _ request: CacheRequest, _ head: CacheResponseHead, size: Int64, isComplete: Bool = true
  ) -> Bool {
    guard request.method == "GET", (200...299).contains(head.status), head.status != imUsed,
      permits(request, head), Vary.names(head.headers) != nil, isUsable(head)
    else { return false }
    return isComplete && head.status != 206 || mayStorePart(head, size: size, isComplete: isComplete)
  }

  /// Whether anything of a response may be stored, even only its header fields as an update (§5.2.1.5, §5.2.2.5).
  package static func permits(_ request: CacheRequest, _ head: CacheResponseHead) -> Bool {
    guard !request.control.noStore else { return false }
    // If Ferry understands the status, must-understand overrides no-store (§5.2.2.3).
    guard head.control.mustUnderstand else { return !head.control.noStore }
    return (200...206).contains(head.status) || head.status == 304
  }

  /// A response to a request with an instance manipulation (RFC 3229 §10.4.1). Other requests must not get it.
  private static let imUsed = 226

  /// Whether the response has a lifetime or a validator.
  private static func isUsable(_ head: CacheResponseHead) -> Bool {
    head.control.maxAge != nil || head.headers.contains("Expires")
      || !Validators.conditions(head.headers).isEmpty
  }

  /// Whether a partial body is useful: its missing bytes can be requested (§3.3).
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

  /// Whether an entry is small enough: for the disk, or for memory if the cache has no disk.
  package static func fits(_ size: Int64, memoryCapacity: Int64, diskCapacity: Int64?) -> Bool {
    size <= (diskCapacity ?? memoryCapacity) / largestPart
  }
}
