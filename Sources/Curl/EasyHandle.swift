internal import CCurl
internal import CHandshake
internal import EventLoop
internal import Glibc

/// The owner of a `CURL *`. Used only on the loop of the multi handle that it is added to.
package final class EasyHandle {
  let raw: UnsafeMutableRawPointer
  package weak var delegate: (any EasyHandleDelegate)?
  private weak var multi: MultiHandle?
  private var headers = HeaderList()
  private var proxyHeaders = HeaderList()
  /// Objects that libcurl refers to and does not keep alive.
  private var policy: TLSPolicy?
  private var share: ShareHandle?
  /// The time at which the first TLS handshake began on a new connection. libcurl reports no times of a failed handshake.
  package fileprivate(set) var handshakeStart: ContinuousClock.Instant?
  /// The parameters of the last request's connection, which may be closed by the transfer's end.
  package fileprivate(set) var tlsParameters: TLSParameters?
  /// The DSCP code point (RFC 2474 §3), 0...63, of the connections that this handle opens. It also applies to their later users.
  package var codePoint: UInt8 = 0
  fileprivate var tlsConnection: TLSConnection?
  /// The certificate request of the connection that the handle opened last, or that carried its request.
  package var certificateRequest: CertificateRequest { tlsConnection?.certificateRequest ?? .none }
  /// The last alert of that connection's peer (RFC 8446 §6); 0 if there was none. Unlike libcurl's error message, it includes an alert that
  /// libcurl reads only when it closes the connection.
  package var tlsAlert: Int { tlsConnection?.alert ?? 0 }
  /// Whether no descriptor was left for its socket.
  package private(set) var lacksDescriptor = false
  /// The record of its HTTP/2 stream.
  let stream = UnsafeMutablePointer<cstreams_stream>.allocate(capacity: 1)
  private let message = UnsafeMutablePointer<CChar>.allocate(capacity: Int(CURL_ERROR_SIZE))

  package init() throws(CurlError) {
    message.initialize(repeating: 0, count: Int(CURL_ERROR_SIZE))
    stream.initialize(to: cstreams_stream())
    guard let raw = curl_easy_init() else {
      throw CurlError(result: CurlResult(code: 2), operation: "easy_init")
    }
    self.raw = raw
  }

  deinit {
    curl_easy_cleanup(raw)
    message.deallocate()
    stream.deallocate()
  }

  /// Resets all options (curl_easy_reset). `EasyHandlePool` knows the versions for which this is enough.
  /// - Returns: Whether the handle can be reused. libcurl 7.88 leaves the buffer of a transfer whose connection others were still using,
  ///   and then
  /// refuses another buffer size (43).
  func reset() -> Bool {
    curl_easy_reset(raw)
    // The reset leaves the share, but the next transfer may belong to another session.
    _ = ccurl_easy_setopt_pointer(raw, CURLOPT_SHARE, nil)
    share = nil
    policy = nil
    handshakeStart = nil
    tlsParameters = nil
    tlsConnection = nil
    resetStream()
    lacksDescriptor = false
    codePoint = 0
    headers = HeaderList()
    proxyHeaders = HeaderList()
    delegate = nil
    message.pointee = 0
    return ccurl_easy_setopt_long(raw, CURLOPT_BUFFERSIZE, Int(CURL_MAX_WRITE_SIZE)) == CURLE_OK
  }

  /// libcurl's message of a failure; empty if there is none.
  package var errorMessage: String { String(cString: message) }

  // MARK: Options

  package func set(_ option: EasyOption<String>, to value: String?) throws(CurlError) {
    try check(ccurl_easy_setopt_string(raw, option.raw, value), "easy_setopt \(option.raw.rawValue)")
  }
  package func set(_ option: EasyOption<Int>, to value: Int) throws(CurlError) {
    try check(ccurl_easy_setopt_long(raw, option.raw, value), "easy_setopt \(option.raw.rawValue)")
  }
  package func set(_ option: EasyOption<Int64>, to value: Int64) throws(CurlError) {
    try check(
      ccurl_easy_setopt_off_t(raw, option.raw, curl_off_t(value)), "easy_setopt \(option.raw.rawValue)")
  }

  /// Sets a request body, which libcurl copies (CURLOPT_COPYPOSTFIELDS).
  package func setBody(_ body: [UInt8]) throws(CurlError) {
    try set(.postFieldSize, to: Int64(body.count))
    let status = body.withUnsafeBufferPointer {
      ccurl_easy_setopt_pointer(raw, CURLOPT_COPYPOSTFIELDS, $0.baseAddress ?? UnsafePointer(bitPattern: 1))
    }
    try check(status, "easy_setopt COPYPOSTFIELDS")
  }

  /// Sets a request body that the delegate delivers in pieces.
  /// - Parameter length: The length in bytes; `nil` if unknown, for a chunked body.
  package func setUpload(length: Int64?) throws(CurlError) {
    let context = Unmanaged.passUnretained(self).toOpaque()
    try set(.postFieldSize, to: length ?? -1)
    try check(ccurl_easy_setopt_read(raw, onReadBody), "READFUNCTION")
    try check(ccurl_easy_setopt_pointer(raw, CURLOPT_READDATA, context), "READDATA")
    try check(ccurl_easy_setopt_seek(raw, onSeekBody), "SEEKFUNCTION")
    try check(ccurl_easy_setopt_pointer(raw, CURLOPT_SEEKDATA, context), "SEEKDATA")
  }

  /// Sets header lines, `Name: value`. `Name:` removes one of libcurl's own fields, and `Name;` sends an empty one.
  package func setHeaders(_ lines: [String]) throws(CurlError) {
    headers = try HeaderList(lines)
    try check(ccurl_easy_setopt_slist(raw, CURLOPT_HTTPHEADER, headers.raw), "easy_setopt HTTPHEADER")
  }

  /// Sets header lines of the CONNECT request to a proxy. No other header lines are sent with CONNECT.
  package func setProxyHeaders(_ lines: [String]) throws(CurlError) {
    proxyHeaders = try HeaderList(lines)
    try check(ccurl_easy_setopt_slist(raw, CURLOPT_PROXYHEADER, proxyHeaders.raw), "easy_setopt PROXYHEADER")
  }

  /// Sets the TLS policy, which replaces libcurl's own certificate authorities and checks.
  package func setTLS(_ policy: TLSPolicy) throws(CurlError) {
    self.policy = policy
    try check(ccurl_easy_setopt_pointer(raw, CURLOPT_CAPATH, nil), "easy_setopt CAPATH")
    try check(ccurl_easy_setopt_pointer(raw, CURLOPT_CAINFO, nil), "easy_setopt CAINFO")
    try set(.sslVerifyHost, to: 0)
    if !policy.resumes { try set(.sslSessionCache, to: 0) }
    try check(ccurl_easy_setopt_ssl_context(raw, onTLSContext), "SSL_CTX_FUNCTION")
    try check(
      ccurl_easy_setopt_pointer(raw, CURLOPT_SSL_CTX_DATA, UnsafeRawPointer(policy.raw)), "SSL_CTX_DATA")
    let context = Unmanaged.passUnretained(self).toOpaque()
    try check(ccurl_easy_setopt_pointer(raw, CURLOPT_PRIVATE, context), "PRIVATE")
  }

  /// Makes libcurl answer NTLM challenges of a server or proxy by itself, with as many requests as that needs.
  package func setNTLM(user: String, password: String, isProxy: Bool) throws(CurlError) {
    try set(isProxy ? .proxyAuth : .httpAuth, to: Int(ccurl_auth_ntlm))
    try set(isProxy ? .proxyUserName : .userName, to: user)
    try set(isProxy ? .proxyPassword : .password, to: password)
    // After a failed NTLM login, libcurl 7.88 sends the connection's next upload without its body (fixed in 8.7.0).
    try set(.forbidReuse, to: 1)
  }

  /// Offers a SOCKS proxy only user and password as a method (RFC 1929).
  package func setSOCKSMethods() throws(CurlError) { try set(.socks5Auth, to: Int(ccurl_auth_basic)) }

  /// Sets the minimum and maximum TLS version, as 10 to 13.
  package func setTLSVersions(minimum: Int, maximum: Int) throws(CurlError) {
    let least = [10: CURL_SSLVERSION_TLSv1_0, 11: CURL_SSLVERSION_TLSv1_1, 12: CURL_SSLVERSION_TLSv1_2]
    let most = [
      10: CURL_SSLVERSION_MAX_TLSv1_0, 11: CURL_SSLVERSION_MAX_TLSv1_1, 12: CURL_SSLVERSION_MAX_TLSv1_2,
    ]
    let value =
      Int(bitPattern: UInt((least[minimum] ?? CURL_SSLVERSION_TLSv1_3)))
      | Int(bitPattern: UInt((most[maximum] ?? CURL_SSLVERSION_MAX_TLSv1_3)))
    try set(.sslVersion, to: value)
    // TLS 1.0 and 1.1 sign with SHA-1, which OpenSSL accepts only at its lowest security level.
    if minimum < 12 { try set(.sslCipherList, to: "DEFAULT:@SECLEVEL=0") }
  }

  /// Sets libcurl's callbacks and their delegate.
  package func setCallbacks(_ delegate: any EasyHandleDelegate, in multi: MultiHandle) throws(CurlError) {
    self.delegate = delegate
    self.multi = multi
    share = multi.share
    try check(ccurl_easy_setopt_pointer(raw, CURLOPT_SHARE, share.map { UnsafeRawPointer($0.raw) }), "SHARE")
    let context = Unmanaged.passUnretained(self).toOpaque()
    try check(ccurl_easy_setopt_data(raw, CURLOPT_HEADERFUNCTION, onHeader), "HEADERFUNCTION")
    try check(ccurl_easy_setopt_pointer(raw, CURLOPT_HEADERDATA, context), "HEADERDATA")
    try check(ccurl_easy_setopt_data(raw, CURLOPT_WRITEFUNCTION, onBody), "WRITEFUNCTION")
    try check(ccurl_easy_setopt_pointer(raw, CURLOPT_WRITEDATA, context), "WRITEDATA")
    try check(ccurl_easy_setopt_pointer(raw, CURLOPT_ERRORBUFFER, message), "ERRORBUFFER")
    try check(ccurl_easy_setopt_open_socket(raw, onOpenSocket), "OPENSOCKETFUNCTION")
    try check(ccurl_easy_setopt_pointer(raw, CURLOPT_OPENSOCKETDATA, context), "OPENSOCKETDATA")
    try check(ccurl_easy_setopt_prerequest(raw, onPrerequest), "PREREQFUNCTION")
    try check(ccurl_easy_setopt_pointer(raw, CURLOPT_PREREQDATA, context), "PREREQDATA")
    // A connection outlives the easy handle that opened it, so the multi handle records its close.
    try check(ccurl_easy_setopt_close_socket(raw, onCloseSocket), "CLOSESOCKETFUNCTION")
    try check(ccurl_easy_setopt_pointer(raw, CURLOPT_CLOSESOCKETDATA, multi.context), "CLOSESOCKETDATA")
  }

  // MARK: Flow

  /// Pauses the transfer in these directions and resumes it in the others (curl_easy_pause). May call the delegate before it returns. If
  /// the delegate then refuses bytes, the multi handle ends the transfer.
  package func setPaused(_ directions: FlowDirections) {
    let receive = directions.contains(.receive) ? CURLPAUSE_RECV : 0
    let send = directions.contains(.send) ? CURLPAUSE_SEND : 0
    let code = curl_easy_pause(raw, receive | send)
    // A transfer without a connection cannot be paused. That is no failure.
    guard code != CURLE_OK, code != CURLE_BAD_FUNCTION_ARGUMENT else { return }
    multi?.recordFailure(of: self, CurlResult(code: Int(code.rawValue)))
  }

  func recordRefusal() { multi?.recordRefusal(of: raw) }
  fileprivate func recordOpen() { multi?.recordOpen() }

  /// Treats a socket that cannot be opened like a refused one: libcurl continues with the next address.
  fileprivate func noSocket(_ cause: Int32) -> curl_socket_t {
    lacksDescriptor = cause == EMFILE || cause == ENFILE
    recordRefusal()
    return CURL_SOCKET_BAD
  }

  /// Makes libcurl continue after a decision on a handshake or a refused socket. libcurl 7.88 examines a connection without a watched
  /// socket only when a pause ends.
  func wake() {
    setPaused(.receive)
    setPaused([])
  }

  // MARK: Information

  package func info(_ info: EasyInfo<Int>) -> Int {
    var value = 0
    _ = ccurl_easy_getinfo_long(raw, info.raw, &value)
    return value
  }
  package func info(_ info: EasyInfo<Int64>) -> Int64 {
    var value: curl_off_t = 0
    _ = ccurl_easy_getinfo_off_t(raw, info.raw, &value)
    return Int64(value)
  }
  package func info(_ info: EasyInfo<String>) -> String? {
    var value: UnsafePointer<CChar>?
    _ = ccurl_easy_getinfo_string(raw, info.raw, &value)
    return value.flatMap { $0.pointee == 0 ? nil : String(cString: $0) }
  }

  /// The error of a SOCKS proxy that did not connect.
  package var proxyError: CurlProxyError {
    var value = 0
    _ = ccurl_easy_getinfo_long(raw, CURLINFO_PROXY_ERROR, &value)
    return CurlProxyError(rawValue: value)
  }

  private func check(_ code: CURLcode, _ operation: @autoclosure () -> String) throws(CurlError) {
    guard code == CURLE_OK else {
      throw CurlError(result: CurlResult(code: Int(code.rawValue)), operation: operation())
    }
  }
}

// MARK: - Callbacks

@c private func onTLSContext(
  _ easy: UnsafeMutableRawPointer?, _ context: UnsafeMutableRawPointer?, _ policy: UnsafeMutableRawPointer?
) -> CURLcode {
  guard let context, let policy else { return CURLE_SSL_CERTPROBLEM }
  guard chandshake_attach(easy, context, policy) == 0 else { return CURLE_OUT_OF_MEMORY }
  if let owner = easy.flatMap(EasyHandle.owner) {
    owner.handshakeStart = owner.handshakeStart ?? .now
    owner.tlsConnection = TLSConnection(context: context)
  }
  return CURLE_OK
}

private func handle(_ context: UnsafeMutableRawPointer?) -> EasyHandle {
  Unmanaged<EasyHandle>.fromOpaque(context!).takeUnretainedValue()
}

@c private func onHeader(
  _ bytes: UnsafeMutablePointer<CChar>?, _ size: Int, _ count: Int, _ context: UnsafeMutableRawPointer?
) -> Int {
  let line = UnsafeRawBufferPointer(start: bytes, count: size * count)
  let easy = handle(context)
  easy.tlsConnection?.didReceiveResponse()
  return easy.delegate?.didReceiveHeader(line) == false ? 0 : line.count
}

@c private func onBody(
  _ bytes: UnsafeMutablePointer<CChar>?, _ size: Int, _ count: Int, _ context: UnsafeMutableRawPointer?
) -> Int {
  let buffer = UnsafeRawBufferPointer(start: bytes, count: size * count)
  let easy = handle(context)
  switch easy.delegate?.didReceiveBody(buffer) {
  case .accepted: return buffer.count
  case .acceptedThenHolding(let directions):
    easy.setPaused(directions)
    return buffer.count
  case .paused: return ccurl_writefunc_pause
  case .refused, nil: return buffer.count == 0 ? 1 : 0
  }
}

@c private func onReadBody(
  _ bytes: UnsafeMutablePointer<CChar>?, _ size: Int, _ count: Int, _ context: UnsafeMutableRawPointer?
) -> Int {
  let buffer = UnsafeMutableRawBufferPointer(start: bytes, count: size * count)
  switch handle(context).delegate?.readBody(into: buffer) {
  case .bytes(let count): return count
  case .paused: return ccurl_readfunc_pause
  case .end: return 0
  case .failed, nil: return ccurl_readfunc_abort
  }
}

@c private func onSeekBody(
  _ context: UnsafeMutableRawPointer?, _ offset: curl_off_t, _ origin: Int32
) -> Int32 {
  // libcurl seeks only to the start.
  guard origin == SEEK_SET, offset == 0, handle(context).delegate?.rewindBody() == true else {
    return CURL_SEEKFUNC_CANTSEEK
  }
  return CURL_SEEKFUNC_OK
}

@c private func onOpenSocket(
  _ context: UnsafeMutableRawPointer?, _ purpose: curlsocktype,
  _ address: UnsafeMutablePointer<curl_sockaddr>?
) -> curl_socket_t {
  guard let address,
    let permission = handle(context).delegate?.mayConnect(to: PeerAddress(address)), permission != .refused
  else {
    handle(context).recordRefusal()
    return CURL_SOCKET_BAD
  }
  let type = address.pointee.socktype | Int32(SOCK_CLOEXEC.rawValue) | Int32(SOCK_NONBLOCK.rawValue)
  let opened = Descriptors.rejectingReserved(socket(address.pointee.family, type, address.pointee.protocol))
  guard opened >= 0 else { return handle(context).noSocket(errno) }
  if case .grantedThrough(let interface) = permission {
    let length = socklen_t(interface.utf8.count)
    guard setsockopt(opened, SOL_SOCKET, SO_BINDTODEVICE, interface, length) == 0 else {
      let cause = errno
      close(opened)
      return handle(context).noSocket(cause)
    }
  }
  guard mark(opened, address.pointee.family, handle(context).codePoint) else {
    let cause = errno
    close(opened)
    return handle(context).noSocket(cause)
  }
  handle(context).recordOpen()
  return opened
}

@c private func onPrerequest(
  _ context: UnsafeMutableRawPointer?, _ remoteAddress: UnsafeMutablePointer<CChar>?,
  _ localAddress: UnsafeMutablePointer<CChar>?, _ remotePort: Int32, _ localPort: Int32
) -> Int32 {
  let address = remoteAddress.map { String(cString: $0) } ?? ""
  let easy = handle(context)
  easy.tlsParameters = TLSParameters(of: easy.raw)
  easy.tlsConnection = TLSConnection(of: easy.raw)
  guard easy.delegate?.maySendRequest(toAddress: address) == true else { return CURL_PREREQFUNC_ABORT }
  easy.resetStream()
  return CURL_PREREQFUNC_OK
}

@c private func onCloseSocket(_ context: UnsafeMutableRawPointer?, _ socket: curl_socket_t) -> Int32 {
  Unmanaged<MultiHandle>.fromOpaque(context!).takeUnretainedValue().recordClose(socket)
  return close(socket)
}
