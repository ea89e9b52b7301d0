/// The variables of the environment whose names are Ferry's.
enum SettingVariables {
  static let prefix = "FERRY_"

  /// A variable with a wrong name would have no effect, and nobody would know.
  /// - Parameter file: the one that has them, if it is not the process's environment.
  static func check(_ environment: [String: String], in file: String? = nil) throws(SettingsError) {
    let known = SettingsCatalogue.all.filter { $0.places.contains(.environment) }.map(\.variable)
    for (name, value) in environment.sorted(by: { $0.key < $1.key })
    where name.hasPrefix(prefix) && !known.contains(name) && !isOfContainers(name, value) {
      let hint = NearestName.hint(name, among: known)
      throw SettingsError(
        whole:
          "\(name)\(file.map { " in " + $0 } ?? "") is not a setting\(hint.isEmpty ? "; `ferry config` lists those that there are" : hint)"
      )
    }
  }

  /// Kubernetes, and Docker's links, tell a container of services in variables that begin with the service's name. One that is called
  /// `ferry` makes FERRY_SERVICE_HOST, FERRY_SERVICE_PORT_HTTP, FERRY_PORT and FERRY_PORT_8080_TCP_ADDR.
  static func isOfContainers(_ name: String, _ value: String) -> Bool {
    let name = name.dropFirst(prefix.count - 1)
    if name.hasSuffix("_SERVICE_HOST") || name.hasSuffix("_SERVICE_PORT") { return true }
    if name.contains("_SERVICE_PORT_") { return true }
    if name.firstMatch(of: /_PORT_[0-9]+_(TCP|UDP|SCTP)(_PROTO|_PORT|_ADDR)?$/) != nil { return true }
    // A port alone would be somebody's wish to listen there.
    return name.hasSuffix("_PORT") && value.contains("://")
  }
}
