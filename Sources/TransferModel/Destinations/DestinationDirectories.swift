/// The directories below which the operator allows destinations. Each belongs to one tenant, or to all if there is only one tenant.
package struct DestinationDirectories: Sendable, Equatable {
  package struct Entry: Sendable, Equatable {
    /// `nil` for every tenant.
    package let tenant: Tenant?
    package let path: String

    package init(tenant: Tenant?, path: String) { (self.tenant, self.path) = (tenant, path) }

    /// Reads `TENANT=DIR` or `DIR`.
    package init(_ text: String) throws(Fault) {
      let parts = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      let hasTenant = !text.hasPrefix("/") && parts.count == 2
      let path = hasTenant ? String(parts[1]) : text
      if let fault = Destination.fault(ofPath: path) {
        throw Fault(
          message:
            "'\(text)' names no usable directory: the path \(fault); write it like /srv/media or acme=/srv/acme"
        )
      }
      guard !hasTenant || !parts[0].isEmpty else {
        throw Fault(message: "'\(text)' has no tenant before the equals sign; write it like acme=/srv/acme")
      }
      self.init(tenant: hasTenant ? Tenant(name: String(parts[0])) : nil, path: path)
    }

    package var description: String { (tenant.map { $0.name + "=" } ?? "") + path }

    func contains(_ path: String) -> Bool {
      path.utf8.count > self.path.utf8.count + 1 && path.utf8.starts(with: (self.path + "/").utf8)
    }
  }

  package struct Fault: Error, Sendable, Equatable { package let message: String }

  package let entries: [Entry]

  package init(_ entries: [Entry] = []) { self.entries = entries }

  /// Reads a setting's items. Directories of two tenants must not contain each other.
  package init(parsing texts: [String]) throws(Fault) {
    var entries: [Entry] = []
    for text in texts {
      let entry = try Entry(text)
      if let other = entries.first(where: { $0.tenant != entry.tenant && Self.overlap($0, entry) }) {
        throw Fault(
          message:
            "'\(entry.description)' and '\(other.description)' overlap; give tenants separate directories")
      }
      entries.append(entry)
    }
    self.init(entries)
  }

  private static func overlap(_ one: Entry, _ other: Entry) -> Bool {
    one.path == other.path || one.contains(other.path) || other.contains(one.path)
  }

  /// A file's place: an opened directory, and the path below it.
  package struct Place: Sendable, Equatable {
    package let root: String
    /// The names of the directories between `root` and the file.
    package let directories: [String]
    package let name: String
  }

  /// Returns the place of a file; `nil` if no directory of the tenant contains it.
  /// - Parameter tenant: `nil` for the directories of all tenants.
  package func place(of file: String, for tenant: Tenant?) -> Place? {
    let own = entries.filter { $0.tenant == nil || tenant == nil || $0.tenant == tenant }
    guard let entry = own.filter({ $0.contains(file) }).max(by: { $0.path.utf8.count < $1.path.utf8.count })
    else { return nil }
    let names = file.utf8.dropFirst(entry.path.utf8.count + 1).split(separator: UInt8(ascii: "/"))
      .map { String(decoding: $0, as: UTF8.self) }
    guard let name = names.last else { return nil }
    return Place(root: entry.path, directories: Array(names.dropLast()), name: name)
  }
}
