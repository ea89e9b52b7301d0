internal import HTTPServer
internal import HTTPTypes
internal import JSON
internal import TransferModel
internal import TransferService

extension TransferAPI {
  static var credentialRoutes: [Route] {
    [
      Route("GET", "/v1/sessions/{session}/credentials") { try await $0.listCredentials($1) },
      Route("PUT", "/v1/sessions/{session}/credentials") { try await $0.setCredential($1) },
      Route("DELETE", "/v1/sessions/{session}/credentials") { try await $0.deleteCredentials($1) },
    ]
  }

  private func listCredentials(_ context: RequestContext) async throws -> ServerResponse {
    let matches = try Self.filter(context)
    return Pagination.whole(
      try await view(context).credentials(of: context.sessionID()).filter { matches($0.space) }, context)
  }

  private func setCredential(_ context: RequestContext) async throws -> ServerResponse {
    try context.allowQuery()
    let id = try context.sessionID()
    let setting = try CredentialEntry(JSONParser.parse(try await context.jsonBytes()))
    try await view(context).setCredential(setting.credential, for: setting.space, in: id)
    return ReplyBuilder.resource(setting.json, for: context)
  }

  private func deleteCredentials(_ context: RequestContext) async throws -> ServerResponse {
    let matches = try Self.filter(context)
    let named = try await Self.space(context)
    try await view(context).removeCredentials(of: context.sessionID()) { space in
      matches(space) && named.map { $0 == space } ?? true
    }
    return ReplyBuilder.noContent()
  }

  /// Reads the protection space from the body, which has the form of the `PUT`.
  private static func space(_ context: RequestContext) async throws -> ProtectionSpace? {
    let violations = Violations()
    var reader = ObjectReader(try await context.optionalJSON(), at: "", violations)
    var space: ProtectionSpace?
    if var fields = reader.object("protectionSpace") { space = ProtectionSpace(validating: &fields) }
    reader.finish()
    guard violations.isEmpty else { throw Problem(violations) }
    return space
  }

  /// Returns the filter of the query. Without parameters it matches all protection spaces.
  private static func filter(_ context: RequestContext) throws -> @Sendable (ProtectionSpace) -> Bool {
    try context.allowQuery("host", "port", "protocol", "realm", "authenticationMethod", "isProxy")
    let (host, protocolName) = (context.value("host")?.lowercased(), context.value("protocol"))
    let port = try context.integer("port", in: 1...65_535)
    let realm = context.value("realm")
    let method: AuthenticationMethod? = try context.choice("authenticationMethod")
    let isProxy = try context.flag("isProxy")
    return { space in
      host.map { $0 == space.host } ?? true && port.map { $0 == space.port } ?? true
        && protocolName.map { $0 == space.protocolName } ?? true && realm.map { $0 == space.realm } ?? true
        && method.map { $0 == space.authenticationMethod } ?? true
        && isProxy.map { $0 == space.isProxy } ?? true
    }
  }
}
