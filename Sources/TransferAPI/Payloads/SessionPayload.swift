internal import HTTPFields
internal import JSON
internal import Limits
internal import TransferModel
internal import TransferService

/// The body of a request that creates a session.
struct SessionPayload {
  var type = SessionType.default
  var identifier: String?
  var description: String?
  var configuration = SessionConfiguration()
  var delegate: SessionDelegate?

  /// - Parameter named: returns the configuration of a name, from which the client's configuration starts.
  init(
    _ value: JSONValue, named: @escaping (String) async throws -> SessionConfiguration?
  ) async throws {
    let violations = Violations()
    var reader = ObjectReader(value, at: "", violations)
    reader.allowNull("identifier", "description", "delegate")
    type = reader.choice("type") ?? .default
    identifier = Self.readIdentifier(&reader, of: type)
    description = reader.string("description", upTo: Limits.descriptionBytes.value)
    if var properties = reader.object("configuration") {
      configuration = try await ConfigurationPayload.read(&properties, of: type, named: named)
    }
    if var calls = reader.object("delegate") {
      delegate = SessionDelegate(validating: &calls)
      WebhookPayload.check(delegate?.webhook, at: "/delegate/webhook/url", violations)
    }
    if type == .background, reader.value("delegate") == nil {
      reader.reject("delegate", "is required for a background session")
    }
    reader.finish(explaining: UnsupportedNames.session)
    guard violations.isEmpty else { throw Problem(violations) }
  }

  private static func readIdentifier(_ reader: inout ObjectReader, of type: SessionType) -> String? {
    guard type == .background else {
      if reader.value("identifier") != nil {
        reader.reject("identifier", "must be left out unless the session is a background session")
      }
      return nil
    }
    guard let identifier = reader.string("identifier") else {
      if reader.value("identifier") == nil {
        reader.reject("identifier", "is required for a background session")
      }
      return nil
    }
    if let fault = BackgroundSessionKey.fault(ofIdentifier: identifier) { reader.reject("identifier", fault) }
    return identifier
  }

  var specification: SessionSpecification {
    var specification = SessionSpecification()
    specification.type = type
    specification.identifier = identifier
    specification.description = description
    specification.configuration = configuration
    specification.delegate = delegate
    return specification
  }
}

/// A configuration, of a session or under a name.
enum ConfigurationPayload {
  /// - Parameters:
  ///   - type: the session's type, or `nil` for a named configuration, which background sessions cannot use.
  ///   - shown: the configuration that has the values of redacted header fields, or `nil` for the one that `named` returns.
  ///   - named: returns the configuration of a name, or is `nil` if the client may not name one.
  static func read(
    _ reader: inout ObjectReader, of type: SessionType? = nil, shown: SessionConfiguration? = nil,
    named: ((String) async throws -> SessionConfiguration?)? = nil
  ) async throws -> SessionConfiguration {
    var base = SessionConfiguration()
    if let named, let name = reader.string("named") {
      if type == .background {
        reader.reject("named", "must be left out in a background session")
      } else if let found = try await named(name) {
        base = found
      } else {
        reader.reject("named", "no configuration has the name '\(name)'")
      }
    }
    var configuration = SessionConfiguration(validating: &reader, over: base)
    // A field that is or was secret may contain the redaction mark instead of its value.
    let known = shown ?? base
    let secrets = known.secretHeaderFields + configuration.secretHeaderFields
    for name in configuration.httpAdditionalHeaders.restoreSecrets(
      of: known.httpAdditionalHeaders, and: secrets)
    {
      reader.violations.add(
        JSONPointer.appending(name, to: reader.pointer(to: "httpAdditionalHeaders")),
        "is redacted, and Ferry has no value for it; send the value")
    }
    if let roots = configuration.tlsAdditionalRootCertificates,
      let fault = TransferService.fault(ofRoots: roots)
    {
      switch fault {
      case .unusable(let reason): reader.reject("tlsAdditionalRootCertificates", reason)
      case .tooManyWithOneSubject(let count):
        reader.exceed(
          "tlsAdditionalRootCertificates",
          "must have at most \(Limits.rootsOfOneSubject.value) certificates with the same subject, but has \(count)"
        )
      }
    }
    var bare = configuration
    bare.tlsAdditionalRootCertificates = nil
    let size = bare.json.count
    if size > Limits.configurationBytes.value {
      reader.violations.exceed(
        reader.pointer,
        "must have at most \(Limits.configurationBytes.value) bytes without its certificates, not \(size)")
    }
    if type == .background, reader.value("urlCache") != nil {
      reader.reject("urlCache", "must be null; a background session has no cache")
    }
    if type == .ephemeral, reader.value("urlCache")?["diskCapacity"]?.wholeNumber ?? 0 > 0 {
      reader.violations.add(
        reader.pointer(to: "urlCache") + "/diskCapacity",
        "must be 0; an ephemeral session writes nothing to disk")
    }
    return configuration
  }
}

enum WebhookPayload {
  /// Adds a violation if messages cannot be posted to the webhook's URL.
  static func check(_ webhook: Webhook?, at pointer: String, _ violations: Violations) {
    guard let webhook, let fault = TransferService.fault(ofURL: webhook.url) else { return }
    violations.add(pointer, fault.message)
  }
}

extension TenantView {
  /// Throws if the host of a webhook's URL is an address that the egress policy refuses.
  func checkEgress(of webhooks: [(webhook: Webhook?, pointer: String)]) throws(Problem) {
    let violations = Violations()
    for (webhook, pointer) in webhooks {
      guard let webhook, let rule = egressRule(against: webhook.url) else { continue }
      violations.exceed(
        pointer,
        "has an address that Ferry does not connect to (\(rule)); use a public address, or open the network with --allow-network"
      )
    }
    guard violations.isEmpty else { throw Problem(violations) }
  }
}
