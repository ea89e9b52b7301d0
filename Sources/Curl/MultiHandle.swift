internal import CCurl
internal import CHandshake
internal import EventLoop

/// The owner of a `CURLM *`: a group of connections. It is neither Sendable nor an actor; its owner isolates it.
///
/// libcurl forbids calls from inside a callback (CURLM_RECURSIVE_API_CALL). Callbacks therefore only record, and the owner takes and
/// handles the records after each call.
package final class MultiHandle {
  /// A change of a socket. The order matters, because a descriptor may be closed and reused.
  package enum SocketChange: Sendable {
    case watch(descriptor: Int32, readable: Bool, writable: Bool)
    case closed(descriptor: Int32)
  }
  package struct Completion {
    package let easy: EasyHandle
    package let result: CurlResult
  }

  private var raw: UnsafeMutableRawPointer?
  private var handles: [UnsafeMutableRawPointer: EasyHandle] = [:]
  private var changes: [SocketChange] = []
  private var refused: [UnsafeMutableRawPointer] = []
  private var failed: [Completion] = []
  /// TLS sessions are resumed within one multi handle only.
  let share: ShareHandle?
  /// The handshakes that wait for a decision; C appends to this queue.
  let handshakes: UnsafeMutablePointer<chandshake_queue>
  /// The number of sockets of connections, idle ones included.
  private var openSockets = 0
  /// The number of the process's descriptors that it uses: libcurl's own pair, and sockets.
  package var descriptors: Int { 2 + openSockets }
  /// The time at which libcurl next needs `performTimeouts()`; `nil` if it needs none.
  package private(set) var deadline: ContinuousClock.Instant?

  var context: UnsafeMutableRawPointer { Unmanaged.passUnretained(self).toOpaque() }

  /// - Parameters:
  ///   - multiplexing: Whether requests may share an HTTP/2 connection.
  ///   - maximumIdleConnections: The maximum number of connections kept for later requests.
  package init(multiplexing: Bool, maximumIdleConnections: Int) throws(CurlError) {
    _ = Self.initialized
    _ = EasyHandle.recordsStreams
    guard Descriptors.hasSpare else {
      throw CurlError(result: .outOfMemory, operation: "multi_init: no descriptors are left")
    }
    guard let raw = curl_multi_init() else {
      throw CurlError(result: .outOfMemory, operation: "multi_init")
    }
    self.raw = raw
    share = ShareHandle()
    handshakes = .allocate(capacity: 1)
    handshakes.initialize(to: chandshake_queue())
    _ = ccurl_multi_setopt_pointer(raw, CURLMOPT_SOCKETDATA, context)
    _ = ccurl_multi_setopt_socket(raw, onSocket)
    _ = ccurl_multi_setopt_pointer(raw, CURLMOPT_TIMERDATA, context)
    _ = ccurl_multi_setopt_timer(raw, onTimer)
    _ = ccurl_multi_setopt_long(raw, CURLMOPT_PIPELINING, multiplexing ? Int(CURLPIPE_MULTIPLEX) : 0)
    _ = ccurl_multi_setopt_long(raw, CURLMOPT_MAXCONNECTS, maximumIdleConnections)
  }

  private static let initialized: Void = ccurl_global_init()

  /// Ends all transfers and frees the handle. libcurl calls back during cleanup, so `deinit` cannot do this.
  package func close() {
    guard let raw else { return }
    for easy in handles.values { curl_multi_remove_handle(raw, easy.raw) }
    handles.removeAll()
    curl_multi_cleanup(raw)
    self.raw = nil
  }
  deinit {
    precondition(raw == nil, "MultiHandle dropped without close()")
    _ = takeHandshakes()
    handshakes.deallocate()
  }

  /// Whether the handle has no transfer.
  package var isEmpty: Bool { handles.isEmpty }

  package func add(_ easy: EasyHandle) throws(CurlError) {
    let code = curl_multi_add_handle(raw, easy.raw)
    guard code == CURLM_OK else {
      throw CurlError(result: CurlResult(code: Int(code.rawValue)), operation: "multi_add_handle")
    }
    handles[easy.raw] = easy
  }

  /// Removes a transfer before its end. Must not be called inside a callback.
  package func remove(_ easy: EasyHandle) {
    guard handles.removeValue(forKey: easy.raw) != nil else { return }
    curl_multi_remove_handle(raw, easy.raw)
  }

  /// Makes libcurl handle a socket that is ready.
  package func perform(_ descriptor: Int32, readable: Bool, writable: Bool, failed: Bool) {
    var running: Int32 = 0
    let mask =
      (readable ? CURL_CSELECT_IN : 0) | (writable ? CURL_CSELECT_OUT : 0) | (failed ? CURL_CSELECT_ERR : 0)
    curl_multi_socket_action(raw, descriptor, mask, &running)
  }

  /// Makes libcurl handle its passed deadline.
  package func performTimeouts() {
    deadline = nil
    var running: Int32 = 0
    curl_multi_socket_action(raw, CURL_SOCKET_BAD, 0, &running)
  }

  /// Returns the socket changes since the last call.
  package func takeSocketChanges() -> [SocketChange] {
    defer { changes.removeAll(keepingCapacity: true) }
    return changes
  }

  /// Removes and returns the transfers that ended since the last call.
  package func takeCompletions() -> [Completion] {
    var completions: [Completion] = []
    var left: Int32 = 0
    while let message = curl_multi_info_read(raw, &left)?.pointee {
      guard message.msg == CURLMSG_DONE, let pointer = message.easy_handle else { continue }
      let code = message.data.result  // Read before the removal, which frees the message.
      curl_multi_remove_handle(raw, pointer)
      guard let easy = handles.removeValue(forKey: pointer) else { continue }
      completions.append(Completion(easy: easy, result: CurlResult(code: Int(code.rawValue))))
    }
    for completion in failed where handles[completion.easy.raw] === completion.easy {
      remove(completion.easy)
      completions.append(completion)
    }
    failed.removeAll()
    return completions
  }

  /// Returns the handshakes that began to wait since the last call, with the transfers that opened their connections.
  package func takeHandshakes() -> [(easy: EasyHandle, handshake: TLSHandshake)] {
    var taken: [(EasyHandle, TLSHandshake)] = []
    while let raw = chandshake_dequeue(handshakes) {
      let handshake = TLSHandshake(raw)
      guard let easy = handshake.easy.flatMap({ handles[$0] }) else { continue }
      taken.append((easy, handshake))
    }
    return taken
  }

  /// Returns the transfers with a socket refused since the last call. libcurl tries their next address only after a wake-up.
  func takeRefusedHandles() -> [EasyHandle] {
    defer { refused = [] }
    return refused.compactMap { handles[$0] }
  }

  func recordRefusal(of easy: UnsafeMutableRawPointer) { refused.append(easy) }
  /// Records that curl_easy_pause failed. libcurl then neither ends the transfer nor watches its socket, and it has dropped the bytes that
  /// the delegate refused.
  func recordFailure(of easy: EasyHandle, _ result: CurlResult) {
    failed.append(Completion(easy: easy, result: result))
  }
  func recordOpen() { openSockets += 1 }
  func recordClose(_ descriptor: Int32) {
    openSockets -= 1
    changes.append(.closed(descriptor: descriptor))
  }
  fileprivate func record(_ change: SocketChange) { changes.append(change) }
  fileprivate func record(timeout milliseconds: Int) {
    deadline = milliseconds < 0 ? nil : .now + .milliseconds(milliseconds)
  }
}

/// The owner of a `CURLSH *`. Lives as long as a transfer uses it.
final class ShareHandle {
  let raw: UnsafeMutableRawPointer
  init?() {
    guard let raw = ccurl_share_init() else { return nil }
    self.raw = raw
  }
  deinit { curl_share_cleanup(raw) }
}

@c private func onSocket(
  _: UnsafeMutableRawPointer?, _ socket: curl_socket_t, _ what: Int32, _ context: UnsafeMutableRawPointer?,
  _: UnsafeMutableRawPointer?
) -> Int32 {
  let reads = what == CURL_POLL_IN || what == CURL_POLL_INOUT
  let writes = what == CURL_POLL_OUT || what == CURL_POLL_INOUT
  Unmanaged<MultiHandle>.fromOpaque(context!).takeUnretainedValue()
    .record(.watch(descriptor: socket, readable: reads, writable: writes))
  return 0
}

@c private func onTimer(_: UnsafeMutableRawPointer?, _ milliseconds: Int, _ context: UnsafeMutableRawPointer?)
  -> Int32
{
  Unmanaged<MultiHandle>.fromOpaque(context!).takeUnretainedValue().record(timeout: milliseconds)
  return 0
}
