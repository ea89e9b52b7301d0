internal import HTTPCache
internal import HTTPFields
internal import Limits
internal import TransferModel

/// Assembly of a download from several partial responses: decides which bytes may be joined, and whether the body is complete (RFC 9110 §14
/// and §15.3.7). Pure.
///
/// An origin may send less of a range than was requested, and may omit the total length. Then the attempt requests the rest. It never joins
/// bytes of another version or at another offset. Instead it starts again from the first byte, once.
struct RangeAssembly {
  /// The kept bytes and the body that they belong to; `nil` if the whole body is requested.
  private(set) var kept: PartialBody?
  /// The range of the current response, and the number of its bytes that were received.
  private var part: ByteRange?
  private var received: Int64 = 0
  /// The number of further ranges that were requested.
  private var ranges = 0
  private var hasStartedAgain = false
  /// Whether this attempt joined a response to kept bytes.
  private(set) var hasJoined = false
  /// Whether the body's file has bytes of this attempt while more may be missing.
  private(set) var isOpen = false
  /// Whether no received byte may be used.
  private(set) var isBroken = false

  init(_ kept: PartialBody?) { self.kept = kept }

  /// The first requested byte; `nil` if the whole body is requested.
  var offset: Int64? { kept?.offset }

  /// The bytes that are kept in the body's file; `nil` if there are none.
  var open: PartialBody? { isOpen || part != nil ? kept : nil }

  /// The bytes of the whole body; `nil` if unknown, or if the whole body is requested.
  var total: Int64? { kept.flatMap { $0.total < 0 ? nil : $0.total } }

  /// Records that the kept bytes no longer exist.
  mutating func discardKept() { kept = nil }

  // MARK: Heads

  enum HeadAction: Equatable {
    /// The response is the task's, with any status.
    case deliver
    /// The response's bytes continue the kept ones.
    case append(at: Int64)
    /// Request the whole body.
    case startAgain
    /// The origin has no bytes after the kept ones: they are the whole body.
    case complete
    /// The response does not answer the request for the rest. The kept bytes remain usable.
    case stop
    case fail
  }

  /// Handles the head of the task's response.
  /// - Parameter resource: The request's URL without its query.
  mutating func handle(_ head: ResponseHead, from resource: @autoclosure () -> String) -> HeadAction {
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

  private mutating func startAgain() -> HeadAction {
    guard !hasStartedAgain else { return fail() }
    hasStartedAgain = true
    (kept, part, isOpen) = (nil, nil, false)
    return .startAgain
  }

  private mutating func fail() -> HeadAction {
    (kept, part, isOpen, isBroken) = (nil, nil, false, true)
    return .fail
  }

  // MARK: Bytes

  enum AppendResult: Equatable {
    case taken
    /// The response has more bytes than its range: request the whole body. The excess bytes are not written.
    case startAgain
    case fail
  }

  mutating func append(_ count: Int) -> AppendResult {
    guard let part else { return .taken }
    received += Int64(count)
    guard received > part.count else { return .taken }
    return startAgain() == .fail ? .fail : .startAgain
  }

  // MARK: The end

  enum End: Equatable {
    /// The body is complete, as far as the lengths show.
    case whole
    /// Request the rest.
    case next
    /// Bytes are missing, and the rest is not requested again.
    case short
  }

  /// Handles the end of the current response, without an error.
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
