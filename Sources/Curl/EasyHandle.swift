internal import CCurl
internal import CHandshake
internal import EventLoop
internal import Glibc

/// Owner of a `CURL *`. Belongs to the loop of the multi handle that it is added to.
package final class EasyHandle {
  let raw: UnsafeMutableRawPointer
  package weak var delegate: (any EasyHandleDelegate)?
  private weak var multi: MultiHandle?
  private var headers = HeaderList()
  private var proxyHeaders = HeaderList()
  /// What libcurl was given and does not keep alive itself.
  private var policy: TLSPolicy?
  private var share: ShareHandle?
  /// When its first TLS handshake began, on a connection that it opened; libcurl tells no times of what fails there.
  package fileprivate(set) var handshakeStart: ContinuousClock.Instant?
  /// Of the connection by which the last request went out; it may be gone by the transfer's end.
  package fileprivate(set) var tlsParameters: TLSParameters?
  /// How packets of the connections that it opens are marked, whoever uses them later (RFC 2474 §3): 0...63.
  package var codePoint: UInt8 = 0
  fileprivate var tlsConnection: TLSConnection?
  /// Of the connection that it opened last, or by which its request went out.
  package var certificateRequest: CertificateRequest { tlsConnection?.certificateRequest ?? .none }
  /// The alert that the peer of that connection sent last (RFC 8446 §6); 0: none. libcurl tells of it only where it came to read it
  /// before it failed to write, but reads it when it closes the connection.
  package var tlsAlert: Int { tlsConnection?.alert ?? 0 }
  /// No descriptor was left for its socket.
  package private(set) var lacksDescriptor = false
  /// Where what becomes of its HTTP/2 stream is recorded.
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

  /// Back to a new handle's options (curl_easy_reset); `EasyHandlePool` knows where that is enough.
  /// - Returns: whether it can be used again. libcurl 7.88 leaves the buffer of a transfer whose connection others
  ///   were still using, and refuses to give it another size (43) from then on.
  func reset() -> Bool {
    curl_easy_reset(raw)
    // Left alone by the reset; the next transfer may be another session's.
    _ = ccurl_easy_setopt_pointer(raw, CURLOPT_SHARE, nil)
    share = nil
    policy = nil
    handshakeStart = nil
    tlsParameters = nil
    tlsConnection = nil
    forgetStream()
    lacksDescriptor = false
    codePoint = 0
    headers = HeaderList()
    proxyHeaders = HeaderList()
    delegate = nil
    message.pointee = 0
    return ccurl_easy_setopt_long(raw, CURLOPT_BUFFERSIZE, Int(CURL_MAX_WRITE_SIZE)) == CURLE_OK
  }

  /// What libcurl says of a failure, beyond its code; empty where it says nothing.
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

  /// A request body; libcurl copies it (CURLOPT_COPYPOSTFIELDS).
  package func setBody(_ body: [UInt8]) throws(CurlError) {
    try set(.postFieldSize, to: Int64(body.count))
    let status = body.withUnsafeBufferPointer {
      ccurl_easy_setopt_pointer(raw, CURLOPT_COPYPOSTFIELDS, $0.baseAddress ?? UnsafePointer(bitPattern: 1))
    }
    try check(status, "easy_setopt COPYPOSTFIELDS")
  }

  /// A request body that the delegate is asked for piece by piece.
  /// - Parameter length: bytes; nil: not known, sent chunked.
  package func setUpload(length: Int64?) throws(CurlError) {
    let context = Unmanaged.passUnretained(self).toOpaque()
    try set(.postFieldSize, to: length ?? -1)
    try check(ccurl_easy_setopt_read(raw, onReadBody), "READFUNCTION")
    try check(ccurl_easy_setopt_pointer(raw, CURLOPT_READDATA, context), "READDATA")
    try check(ccurl_easy_setopt_seek(raw, onSeekBody), "SEEKFUNCTION")
    try check(ccurl_easy_setopt_pointer(raw, CURLOPT_SEEKDATA, context), "SEEKDATA")
  }

  /// Header lines, `Name: value`; `Name:` removes one of libcurl's own, `Name;` sends an empty one.
  package func setHeaders(_ lines: [String]) throws(CurlError) {
    headers = try HeaderList(lines)
    try check(ccurl_easy_setopt_slist(raw, CURLOPT_HTTPHEADER, headers.raw), "easy_setopt HTTPHEADER")
  }

  /// Header lines of the CONNECT to a proxy; the others never go there.
  package func setProxyHeaders(_ lines: [String]) throws(CurlError) {
    proxyHeaders = try HeaderList(lines)
    try check(ccurl_easy_setopt_slist(raw, CURLOPT_PROXYHEADER, proxyHeaders.raw), "easy_setopt PROXYHEADER")
  }

  /// By what the peers of TLS connections are judged: in place of libcurl's own authorities and checks.
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

  /// libcurl itself answers a server's (or a proxy's) NTLM challenges with these, over as many legs as it takes.
  package func setNTLM(user: String, password: String, isProxy: Bool) throws(CurlError) {
    try set(isProxy ? .proxyAuth : .httpAuth, to: Int(ccurl_auth_ntlm))
    try set(isProxy ? .proxyUserName : .userName, to: user)
    try set(isProxy ? .proxyPassword : .password, to: password)
    // libcurl 7.88 sends the next upload on a connection where NTLM has failed without its body (fixed in 8.7.0).
    try set(.forbidReuse, to: 1)
  }

  /// What a SOCKS proxy is offered: nothing but user and password (RFC 1929).
  package func setSOCKSMethods() throws(CurlError) { try set(.socks5Auth, to: Int(ccurl_auth_basic)) }

  /// Least and most TLS version, as 10 to 13.
  package func setTLSVersions(minimum: Int, maximum: Int) throws(CurlError) {
    let least = [10: CURL_SSLVERSION_TLSv1_0, 11: CURL_SSLVERSION_TLSv1_1, 12: CURL_SSLVERSION_TLSv1_2]
    let most = [
      10: CURL_SSLVERSION_MAX_TLSv1_0, 11: CURL_SSLVERSION_MAX_TLSv1_1, 12: CURL_SSLVERSION_MAX_TLSv1_2,
    ]
    let value =
      Int(bitPattern: UInt((least[minimum] ?? CURL_SSLVERSION_TLSv1_3)))
      | Int(bitPattern: UInt((most[maximum] ?? CURL_SSLVERSION_MAX_TLSv1_3)))
    try set(.sslVersion, to: value)
    // TLS 1.0 and 1.1 sign with SHA-1, which OpenSSL takes at its lowest security level alone.
    if minimum < 12 { try set(.sslCipherList, to: "DEFAULT:@SECLEVEL=0") }
  }

  /// Sets the callbacks, and `delegate` as who hears them.
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
    // A connection outlives the easy handle that opened it: its close is told to the multi handle.
    try check(ccurl_easy_setopt_close_socket(raw, onCloseSocket), "CLOSESOCKETFUNCTION")
    try check(ccurl_easy_setopt_pointer(raw, CURLOPT_CLOSESOCKETDATA, multi.context), "CLOSESOCKETDATA")
  }

  // MARK: Flow

  /// Holds the transfer in these directions and lets it go on in the others; may call the delegate before it
  /// returns (curl_easy_pause).
  package func setPaused(_ directions: FlowDirections) {
    let receive = directions.contains(.receive) ? CURLPAUSE_RECV : 0
    let send = directions.contains(.send) ? CURLPAUSE_SEND : 0
    curl_easy_pause(raw, receive | send)
  }

  func recordRefusal() { multi?.recordRefusal(of: raw) }
  fileprivate func recordOpen() { multi?.recordOpen() }

  /// A socket that cannot be had is as good as one that is refused: libcurl goes on with the next address.
  fileprivate func noSocket(_ cause: Int32) -> curl_socket_t {
    lacksDescriptor = cause == EMFILE || cause == ENFILE
    recordRefusal()
    return CURL_SOCKET_BAD
  }

  /// After a decision on its handshake, or a refused socket: libcurl 7.88 looks at a connection that waits for no
  /// socket only when a pause ends.
  func wake() {
    setPaused(.receive)
    setPaused([])
  }

  // MARK: Facts

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

  /// Why a SOCKS proxy did not connect.
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
  easy.tlsConnection?.noteAnswer()
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
  // libcurl only ever starts anew.
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
  let opened = Descriptors.yielding(socket(address.pointee.family, type, address.pointee.protocol))
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
  easy.forgetStream()
  return CURL_PREREQFUNC_OK
}

@c private func onCloseSocket(_ context: UnsafeMutableRawPointer?, _ socket: curl_socket_t) -> Int32 {
  Unmanaged<MultiHandle>.fromOpaque(context!).takeUnretainedValue().recordClose(socket)
  return close(socket)
}
