internal import Curl
internal import TransferModel

/// Turns a request and its session's configuration into options of an easy handle.
struct RequestConfigurator {
  let userAgent: String
  let certificateAuthorityFile: String?

  /// Sets everything on a handle that was reset.
  func configure(_ transfer: Transfer, multi: MultiHandle) throws(CurlError) {
    let (easy, request, configuration) = (transfer.easy, transfer.request, transfer.job.configuration)
    try easy.set(.url, to: transfer.url.text)
    try setPolicy(easy)
    try setMethod(easy, request)
    try easy.setHeaders(headerLines(request, configuration))
    if !request.headers.contains("Range") && !request.headers.contains("Accept-Encoding") {
      try easy.set(.acceptEncoding, to: "")
    }
    try easy.set(.httpVersion, to: 4)  // CURL_HTTP_VERSION_2TLS
    try easy.set(.pipeWait, to: configuration.httpShouldUsePipelining ? 1 : 0)
    try easy.setTLSVersions(
      minimum: configuration.tlsMinimumSupportedProtocolVersion.number,
      maximum: configuration.tlsMaximumSupportedProtocolVersion.number)
    if let rate = configuration.maximumBytesPerSecond {
      try easy.set(.maximumReceiveSpeed, to: Int64(rate))
      try easy.set(.maximumSendSpeed, to: Int64(rate))
      // libcurl's limit is checked between buffers: a large one would overshoot.
      try easy.set(.bufferSize, to: max(1024, min(64 * 1024, rate / 16)))
    } else {
      try easy.set(.bufferSize, to: 100 * 1024)
    }
    try easy.setCallbacks(transfer, in: multi)
  }

  private func setPolicy(_ easy: EasyHandle) throws(CurlError) {
    try easy.set(.noSignal, to: 1)
    try easy.set(.quickExit, to: 1)
    try easy.set(.followLocation, to: 0)
    try easy.set(.http09Allowed, to: 0)
    try easy.set(.protocols, to: "http,https")
    try easy.set(.proxy, to: "")  // the environment's proxies are not ours
    try easy.set(.tcpKeepAlive, to: 1)
    try easy.set(.userAgent, to: userAgent)
    // The worker's own timers decide; libcurl's would run on while a task is suspended.
    try easy.set(.connectTimeoutMilliseconds, to: 2_000_000_000)
    try easy.setCertificateAuthorities(file: certificateAuthorityFile)
  }

  private func setMethod(_ easy: EasyHandle, _ request: TransferRequest) throws(CurlError) {
    switch (request.method, request.body) {
    case ("GET", nil): try easy.set(.httpGet, to: 1)
    case ("HEAD", nil): try easy.set(.noBody, to: 1)
    case (let method, nil) where method != "POST" && method != "PUT" && method != "PATCH":
      try easy.set(.customRequest, to: method)
    case (let method, let body):
      try easy.set(.post, to: 1)
      try easy.setBody(body ?? [])
      if method != "POST" { try easy.set(.customRequest, to: method) }
    }
  }

  private func headerLines(_ request: TransferRequest, _ configuration: SessionConfiguration) -> [String] {
    let headers = request.headers.merging(defaults: configuration.httpAdditionalHeaders)
    var lines = headers.fields.map { $0.value.isEmpty ? "\($0.name);" : "\($0.name): \($0.value)" }
    lines.append("Expect:")  // libcurl would wait a second for servers that ignore it
    if request.body?.isEmpty ?? true, !headers.contains("Content-Type") { lines.append("Content-Type:") }
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
