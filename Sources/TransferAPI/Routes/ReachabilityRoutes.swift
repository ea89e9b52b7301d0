internal import HTTPServer
internal import JSON
internal import Limits
internal import TransferModel
internal import TransferService

extension TransferAPI {
  static var reachabilityRoutes: [Route] {
    [Route("POST", "/v1/reachability") { try await $0.probe($1) }]
  }

  private func probe(_ context: RequestContext) async throws -> ServerResponse {
    try context.allowQuery()
    let violations = Violations()
    var reader = ObjectReader(try JSONParser.parse(try await context.jsonBytes()), at: "", violations)
    let url = reader.string("url", upTo: Limits.urlBytes.value)
    if reader.isMissing("url") { reader.reject("url", "is required") }
    if let fault = url.flatMap({ TransferService.fault(ofURL: $0) }) { reader.reject("url", fault.message) }
    let timeout = reader.number("timeoutInterval", in: 0.001...60) ?? 10
    reader.finish()
    guard let url, violations.isEmpty else { throw Problem(violations) }
    return ReplyBuilder.json(
      try await view(context).probe(
        url, timeout: timeout, hasTenants: authenticator.current.hasTokens
      ).json)
  }
}
