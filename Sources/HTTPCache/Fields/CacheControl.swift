package import HTTPFields
internal import Limits

/// The directives of a request or a response (RFC 9111 §5.2, RFC 5861, RFC 8246). Where they conflict, the most
/// restrictive counts; what is no number of seconds makes things stale (§4.2.1).
package struct CacheControl: Sendable, Equatable {
  package var noStore = false
  /// Without fields: for all of the response.
  package var noCache = false
  /// Fields that `no-cache="…"` names, in lower case.
  package var noCacheFields: [String] = []
  package var mustRevalidate = false
  package var mustUnderstand = false
  package var isPublic = false
  package var isPrivate = false
  package var immutable = false
  package var onlyIfCached = false
  package var maxAge: Int64?
  package var minFresh: Int64?
  /// `max-stale` alone is the greatest number.
  package var maxStale: Int64?
  package var staleWhileRevalidate: Int64?
  package var staleIfError: Int64?

  package init() {}

  /// What a client asks for; `Pragma: no-cache` counts where there is no Cache-Control (§5.4).
  package init(request headers: HTTPHeaders) {
    self.init(headers)
    guard !headers.contains("Cache-Control"), let pragma = headers["Pragma"] else { return }
    noCache = FieldList.has("no-cache", in: pragma)
  }

  /// What a server allows.
  package init(response headers: HTTPHeaders) { self.init(headers) }

  private init(_ headers: HTTPHeaders) {
    let fields = headers.all("Cache-Control")
    // No real message has this many directives. Treat the field as `no-store, no-cache` without parsing it.
    guard !FieldList.hasMore(than: Limits.cacheDirectives.value, in: fields) else {
      (noStore, noCache) = (true, true)
      return
    }
    for field in fields {
      let bytes = Array(field.utf8)
      let (directives, isMalformed) = FieldList.parts(of: bytes)
      for directive in directives { add(bytes[directive]) }
      if isMalformed { maxAge = 0 }
    }
  }

  /// The longest name of a known directive, in bytes. A directive with a longer name is ignored.
  private static let longestName = "stale-while-revalidate".utf8.count

  private mutating func add(_ directive: ArraySlice<UInt8>) {
    let equals = Self.equals(in: directive.span).map { $0 + directive.startIndex }
    let text = directive[..<(equals ?? directive.endIndex)]
    let trimmed = text.trimmingBlanks
    guard trimmed.count <= Self.longestName else { return }
    let name = String(decoding: trimmed, as: UTF8.self).lowercasedASCII
    // No blanks belong around "=": such an argument is none.
    let isClean = trimmed.count == text.count
    let value = equals.map { String(decoding: directive[($0 + 1)...], as: UTF8.self) }
    let argument = isClean ? value.flatMap { FieldList.unquoted($0) } : nil
    switch name {
    case "no-store": noStore = true
    case "no-cache": addNoCache(argument)
    case "must-revalidate": mustRevalidate = true
    case "must-understand": mustUnderstand = true
    case "public": isPublic = true
    case "private": isPrivate = true
    case "immutable": immutable = true
    case "only-if-cached": onlyIfCached = true
    case "max-age": Self.lower(&maxAge, to: Self.seconds(argument))
    case "min-fresh": minFresh = max(minFresh ?? 0, argument.flatMap(FieldList.seconds) ?? .max)
    case "max-stale":
      Self.lower(&maxStale, to: equals == nil ? FieldList.maximumSeconds : Self.seconds(argument))
    case "stale-while-revalidate": Self.lower(&staleWhileRevalidate, to: Self.seconds(argument))
    case "stale-if-error": Self.lower(&staleIfError, to: Self.seconds(argument))
    default: break
    }
  }

  private static func equals(in directive: borrowing Span<UInt8>) -> Int? {
    for place in directive.indices where directive[place] == UInt8(ascii: "=") { return place }
    return nil
  }

  private mutating func addNoCache(_ argument: String?) {
    let fields = argument.map { FieldList.elements(of: $0.lowercasedASCII).elements } ?? []
    noCacheFields += fields
    // A cache cannot do without some fields: then it is the response that is meant.
    if fields.isEmpty || fields.contains(where: StoredFields.needed.contains) { noCache = true }
  }

  private static func seconds(_ argument: String?) -> Int64 { argument.flatMap(FieldList.seconds) ?? 0 }

  private static func lower(_ value: inout Int64?, to other: Int64) { value = min(value ?? other, other) }
}
