internal import HTTPCache
internal import HTTPFields
internal import Limits
internal import TransferModel

/// Assembly of a download from several partial responses: decides which bytes may be joined, and whether the
/// body is whole (RFC 9110 §14 and §15.3.7). Pure.
///
/// An origin may send less of a range than was requested, and may omit the total length. Then the attempt
/// requests the rest. It never joins bytes of another version or at another offset. Instead it starts again
/// from the first byte, once.
struct RangeAssembly {
  /// The bytes that are there, and what they are part of; nil if the whole is asked for.
  private(set) var kept: PartialBody?
  /// The range that the response at hand carries, and how many of its bytes have come.
  private var part: ByteRange?
  private var received: Int64 = 0
  /// Further ranges that were asked for.
  private var ranges = 0
  private var hasStartedAgain = false
  /// A response was joined to kept bytes, in this attempt.
  private(set) var hasJoined = false
  /// The body's file has bytes that this attempt received, and more may be missing.
  private(set) var isOpen = false
  /// Nothing of what came may be used.
  private(set) var isBroken = false

  init(_ kept: PartialBody?) { self.kept = kept }

  /// The first byte that is asked for; nil if that is the whole.
  var offset: Int64? { kept?.offset }

  /// The bytes that are kept in the body's file; nil if there are none.
  var open: PartialBody? { isOpen || part != nil ? kept : nil }

  /// Bytes of the whole body; nil if that is not known, or if the whole is requested.
  var total: Int64? { kept.flatMap { $0.total < 0 ? nil : $0.total } }

  /// The kept bytes are gone.
  mutating func lose() { kept = nil }

  // MARK: Heads

  enum HeadVerdict: Equatable {
    /// The response is the task's, whatever it is.
    case deliver
    /// Its bytes continue the kept ones.
    case append(at: Int64)
    /// The whole is asked for.
    case startAgain
    /// The origin has no bytes after the kept ones: they are the whole body.
    case complete
    /// The response does not answer the request for the rest. The kept bytes remain usable.
    case stop
    case fail
  }

  /// The head of the response that is the task's.
  /// - Parameter resource: where it came from: the URL without its query.
  mutating func handle(_ head: ResponseHead, from resource: @autoclosure () -> String) -> HeadVerdict {
    (part, received) = (nil, 0)
    // A part does not answer a request for the whole.
    guard let kept else { return hasStartedAgain && head.status == 206 ? fail() : .deliver }
    let isSame = kept.resource == nil || kept.resource == resource()
    switch head.status {
    case 206:
      guard isSame,
        let range = RangeJoin.range(
          of: head.headers, validator: kept.validator, total: total, answersIfRange: true),
        range.first == kept.offset
      else { return startAgain() }
      part = range
      self.kept?.total = range.total ?? kept.total
      hasJoined = true
      return .append(at: kept.offset)
    case 416:
      let field = head.headers.unambiguous("Content-Range")
      let isComplete =
        isOpen && isSame && total == nil && ByteRange.unsatisfiedTotal(contentRange: field) == kept.offset
      return isComplete ? .complete : startAgain()
    case 200..<300:
      guard !isOpen, !RangeJoin.isPart(head.headers) else { return startAgain() }
    default:
      guard !isOpen else { return .stop }
    }
    self.kept = nil
    return .deliver
  }

  private mutating func startAgain() -> HeadVerdict {
    guard !hasStartedAgain else { return fail() }
    hasStartedAgain = true
    (kept, part, isOpen) = (nil, nil, false)
    return .startAgain
  }

  private mutating func fail() -> HeadVerdict {
    (kept, part, isOpen, isBroken) = (nil, nil, false, true)
    return .fail
  }

  // MARK: Bytes

  enum Room: Equatable {
    case taken
    /// More bytes come than the range has: none of them is written.
    case startAgain
    case fail
  }

  mutating func take(_ count: Int) -> Room {
    guard let part else { return .taken }
    received += Int64(count)
    guard received > part.count else { return .taken }
    return startAgain() == .fail ? .fail : .startAgain
  }

  // MARK: The end

  enum End: Equatable {
    /// As far as this can tell, the body is whole.
    case whole
    /// The rest is asked for.
    case next
    /// Bytes are missing, and it does not ask again.
    case short
  }

  /// The response at hand has ended, without an error.
  mutating func end() -> End {
    guard part != nil, var kept else { return .whole }
    part = nil
    kept.offset += received
    self.kept = kept
    guard kept.offset != total else {
      isOpen = false
      return .whole
    }
    isOpen = true
    guard received > 0, ranges < Limits.ranges.value else { return .short }
    ranges += 1
    return .next
  }
}
