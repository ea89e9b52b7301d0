internal import HTTPServer
internal import HTTPTypes
internal import JSON
internal import TransferModel
internal import TransferService

extension TransferAPI {
  static var configurationRoutes: [Route] {
    [
      Route("POST", "/v1/configurations") { try await $0.createConfiguration($1) },
      Route("GET", "/v1/configurations") { try await $0.listConfigurations($1) },
      Route("GET", "/v1/configurations/{name}") { api, context in
        try context.allowQuery()
        return ReplyBuilder.resource(
          try await api.view(context).configuration(context.name()).json, for: context)
      },
      Route("PUT", "/v1/configurations/{name}") { try await $0.replaceConfiguration($1) },
      Route("DELETE", "/v1/configurations/{name}") { api, context in
        try context.allowQuery()
        try await api.view(context).deleteConfiguration(context.name())
        return ReplyBuilder.noContent()
      },
    ]
  }

  private func createConfiguration(_ context: RequestContext) async throws -> ServerResponse {
    try context.allowQuery()
    let bytes = try await context.jsonBytes()
    let violations = Violations()
    var reader = ObjectReader(try JSONParser.parse(bytes), at: "", violations)
    let given = reader.string("name")
    let name = given ?? ""
    if reader.isMissing("name") { reader.reject("name", "is required") }
    if given != nil, !NamedConfiguration.isValid(name: name) {
      reader.reject("name", "\(Self.nameRule), not '\(name)'")
    }
    var configuration = SessionConfiguration()
    if var fields = reader.object("configuration") {
      configuration = try await ConfigurationPayload.read(&fields)
    } else if reader.isMissing("configuration") {
      reader.reject("configuration", "is required")
    }
    reader.finish()
    guard violations.isEmpty else { throw Problem(violations) }
    let idempotent = try IdempotentRequest(context, body: bytes, service: service)
    let (read, view) = (configuration, try view(context))
    return try await idempotent.run {
      let location = "/v1/configurations/\(name)"
      let named = try await view.createConfiguration(name, read) { named in
        idempotent?.reply(status: 201, type: "application/json", location: location, body: named.json)
      }
      return ReplyBuilder.resource(named.json, for: context, status: 201, fields: [.location: location])
    }
  }

  private static let nameRule =
    "must have 1 to 128 characters of letters, digits, '.', '_' and '-', and not be '.' or '..'"

  private func listConfigurations(_ context: RequestContext) async throws -> ServerResponse {
    try context.allowQuery("limit", "cursor", "order")
    let limit = try Pagination.limit(context)
    let order: ListOrder? = try context.choice("order")
    let items = try await view(context).configurations(
      after: Self.cursor(context, order), order: order, limit: limit + 1)
    return Pagination.reply(items, limit: limit, cursor: { Self.cursor(of: $0, order) }, context)
  }

  /// The cursor of a list by time begins with the time, so that it differs from that of a list by name.
  private static func cursor(of named: NamedConfiguration, _ order: ListOrder?) -> [UInt8] {
    Array("\(order == nil ? "" : "\(named.createdAt.microseconds)"):\(named.name.text)".utf8)
  }

  private static func cursor(
    _ context: RequestContext, _ order: ListOrder?
  ) throws(Problem) -> ConfigurationCursor? {
    guard let text = try Pagination.textCursor(context) else { return nil }
    let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
    guard parts.count == 2, parts[0].isEmpty == (order == nil),
      let time = parts[0].isEmpty ? 0 : Int64(parts[0])
    else {
      throw RequestContext.invalid(
        "cursor", "must be nextCursor of a page with the same order; begin again without cursor")
    }
    return ConfigurationCursor(name: String(parts[1]), createdAt: Timestamp(microseconds: time))
  }

  private func replaceConfiguration(_ context: RequestContext) async throws -> ServerResponse {
    try context.allowQuery()
    let name = try context.name()
    guard NamedConfiguration.isValid(name: name) else {
      throw Problem(
        .invalidRequest,
        violations: [FieldViolation(pointer: "/name", detail: "\(Self.nameRule), not '\(name)'")])
    }
    let view = try view(context)
    let violations = Violations()
    var reader = ObjectReader(try JSONParser.parse(try await context.jsonBytes()), at: "", violations)
    let configuration = try await ConfigurationPayload.read(
      &reader, shown: view.configurationIfAny(name)?.configuration)
    guard violations.isEmpty else { throw Problem(violations) }
    let (ifMatch, ifNoneMatch) = (context.field(.ifMatch), context.field(.ifNoneMatch))
    let result = try await view.replaceConfiguration(name, configuration) { known in
      guard let known else { return ifMatch == nil }
      let tag = EntityTag.of(known.json)
      return EntityTag.permits(ifMatch, tag) && !EntityTag.matches(ifNoneMatch, tag)
    }
    let fields: HTTPFields = result.isNew ? [.location: "/v1/configurations/\(name)"] : [:]
    return ReplyBuilder.resource(
      result.named.json, for: context, status: result.isNew ? 201 : 200, fields: fields)
  }
}

extension RequestContext {
  fileprivate func name() throws(Problem) -> String {
    guard let name = parameters["name"] else {
      throw Problem(.notFound, "no configuration has this name")
    }
    return name
  }
}
