internal import Addresses
internal import Curl
internal import EngineAPI
internal import HTTPFields
internal import TransferModel

/// What a transfer's next request says.
extension Transfer {
  /// The part of the stored file that the request sends.
  var bodyRange: Range<Int64> { machine.upload?.range ?? 0..<(request.body?.length ?? 0) }

  /// By which algorithm the stored file is to be digested before the request goes out.
  var missingDigest: DigestAuthentication.Algorithm? {
    digests.missing(of: request.body, for: machine.authenticator, at: url)
  }

  var cachePolicy: CachePolicy { request.cachePolicy ?? job.configuration.requestCachePolicy }

  /// The header fields to send, without those that the authenticator adds.
  var outgoingHeaders: HTTPHeaders { headers(with: machine.cache?.fields ?? []) }

  /// - Parameter fields: what the cache adds.
  func headers(with fields: [HTTPHeaders.Field]) -> HTTPHeaders {
    var defaults = job.configuration.httpAdditionalHeaders
    if hasLeftOrigin { defaults.removeSecrets(and: job.configuration.secretHeaderFields) }
    var headers = request.headers.merging(defaults: defaults)
    if !headers.contains("Cookie"),
      let cookies = context.settings.storages.cookies.header(
        for: request, at: url, of: job, now: context.settings.now())
    {
      headers.append("Cookie", cookies)
    }
    if machine.withholdsExpect { headers.remove("Expect") }
    for field in fields { headers.append(field.name, field.value) }
    return headers
  }

  /// Whether the client's own `Proxy-Authorization` goes out beside the request's other fields.
  var sendsProxyFields: Bool {
    guard let proxy else { return job.configuration.proxies.isEmpty }
    return proxy.server.kind == .http && url.scheme == "http" && machine.authenticator.attempt(.proxy) == nil
  }

  /// The classes of interfaces that both the session and the request allow.
  var allowedClasses: InterfaceClasses {
    let access = job.configuration.networkAccess.intersection(request.networkAccess)
    return InterfaceClasses(
      cellular: access.allowsCellularAccess, expensive: access.allowsExpensiveNetworkAccess,
      constrained: access.allowsConstrainedNetworkAccess)
  }

  /// What its traffic is for: the request says so, unless it leaves that to the session.
  var networkServiceType: NetworkServiceType {
    request.networkServiceType ?? job.configuration.networkServiceType
  }

  /// The request as it went out.
  var asked: TransferMachine.Request {
    TransferMachine.Request(
      request: request, url: url, proxy: proxy, sharedConfiguration: job.sharedConfiguration,
      asksForRedirects: job.delegate?.asksForRedirects == true)
  }
}
