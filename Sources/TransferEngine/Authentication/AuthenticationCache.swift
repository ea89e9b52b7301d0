internal import Limits
internal import TransferModel

/// The authentication that servers and proxies have accepted, so that later requests send it without a challenge (RFC 7617 §2.2,
/// RFC 7616 §3.6). Each session has its own, used only on its transfer loop.
struct AuthenticationCache {
  private struct Entry {
    var attempt: Authenticator.Attempt
    /// The directories of the paths that Basic was accepted for; empty for the whole host.
    var prefixes: [String]
  }
  private var entries: [ProtectionSpace: [Entry]] = [:]

  var isEmpty: Bool { entries.isEmpty }

  /// - Parameters:
  ///   - place: The host, port and protocol of the server or proxy.
  ///   - path: The request's path.
  func attempt(at place: ProtectionSpace, path: String) -> Authenticator.Attempt? {
    guard let known = entries[place] else { return nil }
    return known.last { entry in entry.prefixes.isEmpty || entry.prefixes.contains { path.hasPrefix($0) } }?
      .attempt
  }

  mutating func remember(_ attempt: Authenticator.Attempt, path: String) {
    let place = attempt.space.place
    var prefixes: [String] = []
    if attempt.scheme?.coversDirectory == true, !attempt.space.isProxy {
      prefixes = [Self.directory(of: path)]
      if let same = entries[place]?.first(where: { $0.attempt.space == attempt.space }),
        attempt.credential?.isSame(as: same.attempt.credential) == true
      {
        let others = same.prefixes.filter { !$0.hasPrefix(prefixes[0]) }
        prefixes += others.prefix(Limits.authenticatedPaths.value - 1)
      }
    }
    entries[place]?.removeAll { $0.attempt.space == attempt.space }
    if entries.count >= Limits.authenticatedPlaces.value, entries[place] == nil { entries.removeAll() }
    if entries[place]?.count ?? 0 >= Limits.authenticatedRealms.value { entries[place]?.removeFirst() }
    entries[place, default: []].append(Entry(attempt: attempt, prefixes: prefixes))
  }

  /// Removes an authentication that was refused.
  mutating func forget(_ attempt: Authenticator.Attempt) {
    forget(at: attempt.space.place) { known in
      known.space == attempt.space
        && (known.credential == nil || known.credential?.isSame(as: attempt.credential) == true)
    }
  }

  mutating func forget(where matches: (ProtectionSpace) -> Bool) {
    for place in entries.keys { forget(at: place) { matches($0.space) } }
  }

  private mutating func forget(at place: ProtectionSpace, where matches: (Authenticator.Attempt) -> Bool) {
    entries[place]?.removeAll { matches($0.attempt) }
    if entries[place]?.isEmpty == true { entries[place] = nil }
  }

  /// Returns the path up to and including its last slash, without the query.
  private static func directory(of path: String) -> String {
    let path = path.prefix { $0 != "?" }
    return path.lastIndex(of: "/").map { String(path[...$0]) } ?? "/"
  }
}

extension ProtectionSpace {
  /// The host, port and protocol alone, without method and realm.
  var place: ProtectionSpace {
    ProtectionSpace(host: host, port: port, protocolName: protocolName, isProxy: isProxy)
  }
}
