internal import ContentCoding
internal import Curl
internal import EngineAPI
internal import HTTPFields
internal import TransferModel

/// Turns a request and its session's configuration into options of an easy handle.
struct RequestConfigurator {
  let userAgent: String

  /// Request bodies up to here are copied and go out with the head; larger ones are read as the origin takes them.
  private static let copiedBodyLimit = 64 * 1024
  private static let bufferSize = 100 * 1024

  /// Sets everything on a handle that was reset.
  func configure(_ easy: EasyHandle, for transfer: Transfer, multi: MultiHandle) throws {
    let configuration = transfer.job.configuration
    let headers = transfer.outgoingHeaders
    try easy.set(.url, to: transfer.url.text)
    try setPolicy(easy)
    try setMethod(easy, transfer)
    try setProxy(easy, transfer)
    try easy.set(.httpVersion, to: 4)  // CURL_HTTP_VERSION_2TLS
    try setHeaders(easy, transfer, headers)
    if transfer.connectsFirst { try easy.set(.freshConnect, to: 1) }
    // What was asked for in whatever words is decoded (URLSession); a range is of the coded bytes.
    transfer.content.isWanted = Self.isDecoded(transfer, headers)
    try easy.set(.pipeWait, to: configuration.httpShouldUsePipelining ? 1 : 0)
    try setTLS(easy, transfer, multi)
    easy.codePoint = transfer.networkServiceType.codePoint
    try easy.set(.bufferSize, to: transfer.limits.areAny ? 16 * 1024 : Self.bufferSize)
    try easy.setCallbacks(transfer, in: multi)
  }

  private func setHeaders(_ easy: EasyHandle, _ transfer: Transfer, _ headers: HTTPHeaders) throws {
    try easy.setHeaders(headerLines(transfer, headers) + setAuthentication(easy, transfer, headers))
  }

  /// The body is known now, of a request that is about to go out: libcurl has taken its length already, and reads the fields only then.
  func setBodyLength(_ easy: EasyHandle, _ transfer: Transfer) throws {
    try setHeaders(easy, transfer, transfer.outgoingHeaders)
  }

  private func setPolicy(_ easy: EasyHandle) throws(CurlError) {
    try easy.set(.noSignal, to: 1)
    try easy.set(.pathAsIs, to: 1)
    try easy.set(.quickExit, to: 1)
    try easy.set(.followLocation, to: 0)
    // Any protocol that speaks first would be an HTTP/0.9 answer.
    try easy.set(.http09Allowed, to: 0)
    try easy.set(.protocols, to: "http,https")
    try easy.set(.tcpKeepAlive, to: 1)
    try easy.set(.userAgent, to: userAgent)
    // The worker's own timers decide; libcurl's would run on while a task is suspended.
    try easy.set(.connectTimeoutMilliseconds, to: 2_000_000_000)
  }

  private func setTLS(_ easy: EasyHandle, _ transfer: Transfer, _ multi: MultiHandle) throws {
    guard transfer.url.scheme == "https" else { return }
    let configuration = transfer.job.configuration
    try easy.setTLSVersions(
      minimum: configuration.tlsMinimumSupportedProtocolVersion.number,
      maximum: configuration.tlsMaximumSupportedProtocolVersion.number)
    try easy.setTLS(
      transfer.session.policy(
        for: transfer.url, certificate: transfer.login.certificate(at: transfer.url), asked: transfer.job,
        waitsAtEnd: transfer.connectsFirst, in: multi))
  }

  private func setProxy(_ easy: EasyHandle, _ transfer: Transfer) throws(CurlError) {
    let isSOCKS = transfer.proxy?.server.kind == .socks5
    // A scheme beats CURLOPT_PROXYTYPE: this one leaves the origin's name to the proxy.
    let proxy = transfer.proxy.map {
      isSOCKS ? $0.server.url.replacing("socks5:", with: "socks5h:") : $0.server.url
    }
    try easy.set(.proxy, to: proxy ?? "")  // the environment's proxies are not ours
    try easy.set(.noProxy, to: "")  // nor are its exceptions
    if isSOCKS { try easy.setSOCKSMethods() }
  }

  /// Shows who sends the request; returns the header lines that do so.
  private func setAuthentication(
    _ easy: EasyHandle, _ transfer: Transfer, _ headers: HTTPHeaders
  ) throws(CurlError) -> [String] {
    var lines: [String] = []
    if let line = try authentication(easy, transfer, .server) { lines.append("Authorization: \(line)") }
    guard let proxy = transfer.proxy else { return lines }
    let isTunnel = proxy.server.kind == .http && transfer.url.scheme == "https"
    let own = isTunnel ? headers.single("Proxy-Authorization") : nil
    // A SOCKS proxy reads no fields: what it is to know is set beside them.
    guard let line = try authentication(easy, transfer, .proxy) ?? own, proxy.server.kind == .http else {
      return lines
    }
    if isTunnel {
      try easy.setProxyHeaders(["Proxy-Authorization: \(line)"])
    } else {
      lines.append("Proxy-Authorization: \(line)")
    }
    return lines
  }

  private func authentication(
    _ easy: EasyHandle, _ transfer: Transfer, _ side: Authenticator.Side
  ) throws(CurlError) -> String? {
    guard let attempt = transfer.machine.authenticator.attempt(side) else { return nil }
    let isTunnel = side.wantsTunnel(to: transfer.url)
    let request = AuthorizedRequest(
      attempt: attempt, isProxy: side == .proxy, method: isTunnel ? "CONNECT" : transfer.request.method,
      target: isTunnel ? "\(transfer.url.host):\(transfer.url.port)" : transfer.url.requestTarget
    ) {
      isTunnel ? nil : transfer.digests.digest(of: transfer.request.body, for: attempt)
    }
    return try attempt.scheme?.authorize(request, with: easy)
  }

  private func setMethod(_ easy: EasyHandle, _ transfer: Transfer) throws(CurlError) {
    let request = transfer.request
    switch (request.method, request.body) {
    case ("GET", nil): try easy.set(.httpGet, to: 1)
    case ("HEAD", nil):
      try easy.set(.noBody, to: 1)
      // The answer ends with its head: libcurl would refuse one whose length it cannot read.
      try easy.set(.ignoreContentLength, to: 1)
    case (let method, nil) where method != "POST" && method != "PUT" && method != "PATCH":
      try easy.set(.customRequest, to: method)
    case (let method, _):
      try easy.set(.post, to: 1)
      try setBody(easy, transfer)
      if method != "POST" { try easy.set(.customRequest, to: method) }
    }
  }

  private func setBody(_ easy: EasyHandle, _ transfer: Transfer) throws(CurlError) {
    let data = transfer.request.body?.data ?? []
    guard !transfer.lacksBody else { return try easy.setUpload(length: transfer.request.declaredLength) }
    guard let source = transfer.source else { return try easy.setBody(data) }
    transfer.isBodyCopied =
      data.count > 0 && data.count <= Self.copiedBodyLimit && !transfer.limits.areAny
    guard !transfer.isBodyCopied else { return try easy.setBody(data) }
    try easy.setUpload(length: source.length)
  }

  private static func isDecoded(_ transfer: Transfer, _ headers: HTTPHeaders) -> Bool {
    !headers.contains("Range") && transfer.machine.ranges.kept == nil
  }

  private func headerLines(_ transfer: Transfer, _ headers: HTTPHeaders) -> [String] {
    let isDecoded = Self.isDecoded(transfer, headers)
    let fields = headers.fields.filter { field in
      let isReplaced =
        HTTPHeaders.equal(field.name, "Authorization")
        && transfer.machine.authenticator.attempt(.server) != nil
        // A stream's own, which is told to libcurl.
        || HTTPHeaders.equal(field.name, "Content-Length")
        // What is for a proxy is not for the origins behind its tunnels.
        || HTTPHeaders.equal(field.name, "Proxy-Authorization") && !transfer.sendsProxyFields
        || isDecoded && HTTPHeaders.equal(field.name, "Accept-Encoding")
      return !isReplaced
    }
    var lines = fields.map { $0.value.isEmpty ? "\($0.name);" : "\($0.name): \($0.value)" }
    if isDecoded {
      let asked = headers["Accept-Encoding"].flatMap { $0.isEmpty ? nil : $0 }
      lines.append("Accept-Encoding: \(asked ?? ContentDecoder.accepted)")
    }
    lines += (transfer.machine.upload?.fields ?? []).map { "\($0.name): \($0.value)" }
    lines.append("Expect:")  // libcurl would wait a second for servers that ignore it
    let request = transfer.request
    // As URLSession: the data of a POST are a form unless it says otherwise, and no other body has a type of its own.
    let length = transfer.source?.length ?? request.body?.length ?? 0
    if !headers.contains("Content-Type"), request.method != "POST" || length == 0 || request.body?.file != nil
    {
      lines.append("Content-Type:")
    }
    // The first legs of a scheme that is connection-based have no body: libcurl then says itself when there is one.
    let scheme = transfer.machine.authenticator.attempt(.server)?.scheme
    if let source = transfer.source, scheme?.isConnectionBased != true {
      if let length = source.length {
        if transfer.connectsFirst, request.declaredLength == nil {
          lines += ["Content-Length: \(length)", "Transfer-Encoding:"]
        }
      } else {
        lines.append("Transfer-Encoding: chunked")
      }
    }
    if let kept = transfer.machine.ranges.kept {
      lines += [
        "Range: bytes=\(kept.offset)-", "If-Range: \(kept.validator)", "Accept-Encoding: identity",
      ]
    }
    return lines
  }
}

extension TLSVersion {
  fileprivate var number: Int {
    switch self {
    case .v10: 10
    case .v11: 11
    case .v12: 12
    case .v13: 13
    }
  }
}
