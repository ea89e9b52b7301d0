internal import Limits

/// A version of draft-ietf-httpbis-resumable-upload. Clients and servers of different versions ignore each other.
enum UploadVersion: Int, Sendable, CaseIterable {
  /// Drafts -09 to -11.
  case v8 = 8
  /// Drafts -04 and -05, which deployed servers support.
  case v6 = 6

  /// The version to offer after this one was not supported.
  var next: UploadVersion { self == .v8 ? .v6 : .v8 }
}

/// The version that the next upload to each origin offers. A request can offer only one version, because the field is an Integer, and a
/// server responds only to a version that it knows. So uploads offer the versions in turn until the server responds to one.
struct UploadVersions {
  private struct Entry {
    var version: UploadVersion
    var isSpoken: Bool
  }
  /// The maximum number of remembered origins.
  static let maximumOrigins = Limits.uploadOrigins.value
  private var entries: [String: Entry] = [:]

  subscript(origin: String) -> UploadVersion { entries[origin]?.version ?? .v8 }

  /// Records whether a server has responded to the version that an upload offered.
  mutating func record(_ offered: UploadVersion, isSpoken: Bool, at origin: String) {
    guard isSpoken || entries[origin]?.isSpoken != true else { return }
    if entries.count >= Self.maximumOrigins, entries[origin] == nil { entries = [:] }
    entries[origin] = Entry(version: isSpoken ? offered : offered.next, isSpoken: isSpoken)
  }
}
