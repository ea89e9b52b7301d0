/// The environment variables with Ferry's prefix.
enum SettingVariables {
  static let prefix = "FERRY_"
  /// The variables of the client's commands, which the service ignores.
  private static let ofClients: Set = ["FERRY_SERVER", "FERRY_TOKEN", "FERRY_CONTEXT"]

  /// Refuses unknown variables, because a misspelt one would silently have no effect.
  /// - Parameter file: the file that defines them, if not the process's environment.
  static func check(_ environment: [String: String], in file: String? = nil) throws(SettingsError) {
    let known = SettingsCatalogue.all.filter { $0.places.contains(.environment) }.map(\.variable)
    for (name, value) in environment.sorted(by: { $0.key < $1.key })
    where name.hasPrefix(prefix) && !known.contains(name) && !ofClients.contains(name)
      && !isOfContainers(name, value)
    {
      let hint = SpellingSuggestion.hint(name, among: known)
      throw SettingsError(
        whole:
          "\(name)\(file.map { " in " + $0 } ?? "") is not a setting\(hint)"
      )
    }
  }

  /// Whether a variable comes from Kubernetes or Docker links, which describe services in variables that begin with the service's name. A
  /// service called `ferry` makes FERRY_SERVICE_HOST, FERRY_SERVICE_PORT_HTTP, FERRY_PORT and FERRY_PORT_8080_TCP_ADDR.
  static func isOfContainers(_ name: String, _ value: String) -> Bool {
    let name = name.dropFirst(prefix.count - 1)
    if name.hasSuffix("_SERVICE_HOST") || name.hasSuffix("_SERVICE_PORT") { return true }
    if name.contains("_SERVICE_PORT_") { return true }
    if name.firstMatch(of: /_PORT_[0-9]+_(TCP|UDP|SCTP)(_PROTO|_PORT|_ADDR)?$/) != nil { return true }
    // A bare port number would be an operator's wish to listen there, so it is refused.
    return name.hasSuffix("_PORT") && value.contains("://")
  }
}
