internal import ContentCoding
internal import Dashboard
internal import HTTPServer
internal import HTTPTypes
internal import JSON
internal import Synchronization

/// The pages for people: the dashboard, the API reference, the types of problems, and the files that these pages load. They hold no data,
/// so they need no token.
extension TransferAPI {
  static var pageRoutes: [Route] {
    [
      Route("GET", "/", isPublic: true) { api, context in
        guard ContentNegotiation.prefersHTML(context.field(.accept)) else {
          throw Problem(
            .notFound, "the path / has only a page in HTML; /openapi.yaml lists the paths of the API")
        }
        return page(Page.dashboard(version: api.version.number), policy: Page.policy, for: context)
      },
      Route("GET", "/docs", isPublic: true) { _, context in
        // The addresses in the page are relative to the path without a slash at its end, which may have a prefix.
        guard !context.request.path.hasSuffix("/") else {
          return ServerResponse(status: .permanentRedirect, fields: [.location: "../docs"])
        }
        return page(Page.reference(), policy: Page.referencePolicy, for: context)
      },
      Route("GET", "/openapi.json", isPublic: true) { _, context in
        let contract = Assets.contract
        return content(
          of: contract, [.contentType: contract.type, .cacheControl: "no-store"], for: context)
      },
      Route("GET", "/problems/{problem}", isPublic: true) { _, context in try problemPage(context) },
      Route("GET", assetPath + "{version}/{name}", isPublic: true) { _, context in
        try asset(context.parameters["name"] ?? "", context)
      },
      Route("GET", assetPath + "{version}/{name}/{file}", isPublic: true) { _, context in
        try asset("\(context.parameters["name"] ?? "")/\(context.parameters["file"] ?? "")", context)
      },
    ]
  }

  /// The beginning of the paths of files that pages load. They are no part of the contract.
  package static let assetPath = "/assets/"

  private static func problemPage(_ context: RequestContext) throws(Problem) -> ServerResponse {
    guard let kind = ProblemKind.all.first(where: { $0.slug == context.parameters["problem"] }) else {
      throw Problem(
        .notFound, "no problem has this name; the schema ProblemName of /openapi.yaml lists the names")
    }
    let accept = context.field(.accept)
    if let type = ContentNegotiation.problemType(accept) {
      var reply = ReplyBuilder.json(Problem(kind, "\(kind.meaning) \(kind.remedy)").json, type: type)
      reply.head.headerFields[.vary] = "Accept"
      return reply
    }
    let html = Page.problem(
      kind.slug, title: kind.title, status: kind.status, meaning: kind.meaning, remedy: kind.remedy)
    return page(html, policy: Page.policy, for: context)
  }

  /// A page, which browsers check again at each visit.
  private static func page(
    _ html: [UInt8], policy: String, for context: RequestContext
  ) -> ServerResponse {
    var fields = guardFields
    fields[.contentType] = "text/html; charset=utf-8"
    fields[.cacheControl] = "no-cache"
    fields[.contentSecurityPolicy] = policy
    fields[HTTPField.Name("X-Frame-Options")!] = "DENY"
    fields[HTTPField.Name("Cross-Origin-Opener-Policy")!] = "same-origin"
    fields[.vary] = "Accept, Accept-Encoding"
    let tag = EntityTag.of(html)
    fields[.eTag] = tag
    if EntityTag.matches(context.field(.ifNoneMatch), tag) {
      return ServerResponse(status: .notModified, fields: fields)
    }
    return ServerResponse(status: .ok, fields: fields, body: .bytes(html))
  }

  /// Fields that keep browsers from reading a reply as another type, and other sites from using it.
  private static var guardFields: HTTPFields {
    [
      .xContentTypeOptions: "nosniff", HTTPField.Name("Referrer-Policy")!: "no-referrer",
      HTTPField.Name("Cross-Origin-Resource-Policy")!: "same-origin",
    ]
  }

  /// A file. Its address changes with its content, so browsers keep it.
  private static func asset(_ name: String, _ context: RequestContext) throws(Problem) -> ServerResponse {
    guard context.parameters["version"] == Assets.version, let asset = Assets.served(name) else {
      throw Problem(.notFound, "this build has no such file; load the page again")
    }
    var fields = guardFields
    fields[.contentType] = asset.type
    fields[.cacheControl] = "public, max-age=31536000, immutable"
    return content(of: asset, fields, for: context)
  }

  /// The bytes of a file, compressed if the browser accepts that.
  private static func content(
    of asset: Asset, _ fields: HTTPFields, for context: RequestContext
  ) -> ServerResponse {
    var fields = fields
    fields[.vary] = "Accept-Encoding"
    guard Compression.takesGzip(context.field(.acceptEncoding)), let bytes = CompressedAssets.bytes(of: asset)
    else { return ServerResponse(status: .ok, fields: fields, body: .bytes(asset.bytes)) }
    fields[.contentEncoding] = "gzip"
    return ServerResponse(status: .ok, fields: fields, body: .bytes(bytes))
  }
}

/// The compressed forms of assets. Each is made at its first use and kept.
private enum CompressedAssets {
  private static let made = Mutex<[String: [UInt8]]>([:])
  private static let level: Int32 = 9

  static func bytes(of asset: Asset) -> [UInt8]? {
    if let bytes = made.withLock({ $0[asset.name] }) { return bytes }
    let bytes = Gzip.compress(asset.bytes, level: level)
    made.withLock { $0[asset.name] = bytes }
    return bytes
  }
}
