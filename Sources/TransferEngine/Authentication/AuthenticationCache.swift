internal import Limits
internal import TransferModel

/// What a session's requests were let in with, so that the next ones show it unasked (RFC 7617 §2.2, RFC 7616 §3.6). A
/// session's own; belongs to its worker's loop.
struct AuthenticationCache {
  private struct Entry {
    var attempt: Authenticator.Attempt
    /// Directories of what Basic was asked for; empty: the whole host.
    var prefixes: [String]
  }
  private var entries: [ProtectionSpace: [Entry]] = [:]

  var isEmpty: Bool { entries.isEmpty }

  /// - Parameters:
  ///   - place: host, port and protocol of the server or proxy.
  ///   - path: of the request.
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

  /// It was refused.
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

  /// Up to and with the last slash.
  private static func directory(of path: String) -> String {
    let path = path.prefix { $0 != "?" }
    return path.lastIndex(of: "/").map { String(path[...$0]) } ?? "/"
  }
}

extension ProtectionSpace {
  /// Who asks, without what for.
  var place: ProtectionSpace {
    ProtectionSpace(host: host, port: port, protocolName: protocolName, isProxy: isProxy)
  }
}
