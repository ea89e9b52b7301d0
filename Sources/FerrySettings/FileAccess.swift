internal import FoundationEssentials
internal import Glibc

/// Who besides this user may read or change a file or a directory: what its owner, group and mode say (inode(7)).
package struct FileAccess: Sendable, Equatable {
  package let owner: UInt32
  package let group: UInt32
  package let mode: UInt32

  package init(owner: UInt32, group: UInt32, mode: UInt32) {
    self.owner = owner
    self.group = group
    self.mode = mode & 0o7777
  }

  /// Of what is at a path, behind symbolic links; nil where nothing is.
  package init?(_ path: String) {
    var information = stat()
    guard stat(path, &information) == 0 else { return nil }
    self.init(owner: information.st_uid, group: information.st_gid, mode: information.st_mode)
  }

  /// Anybody may read it, as far as directories above it let them come.
  package var isReadableByAll: Bool { mode & 0o004 != 0 }
  /// Its group, or anybody, may change it.
  package var isWritableByOthers: Bool { mode & 0o022 != 0 }
  /// Nobody but its owner and its group comes to what is in a directory.
  package var keepsOthersOut: Bool { mode & 0o001 == 0 }
  /// In `chmod`'s notation.
  package var modeText: String { "0" + String(mode, radix: 8) }

  /// Whether users who are not in one of these groups, or anybody, may put something else in the place of what is in a directory.
  /// Where it is sticky, only what is theirs.
  package func isOpen(groups: Set<UInt32>) -> Bool {
    guard mode & 0o1000 == 0 else { return false }
    return mode & 0o002 != 0 || mode & 0o020 != 0 && !groups.contains(group)
  }

  /// The groups of this process.
  package static var ownGroups: Set<UInt32> {
    var groups = [gid_t](repeating: 0, count: max(0, Int(getgroups(0, nil))))
    let count = getgroups(Int32(groups.count), &groups)
    return Set(groups.prefix(max(0, Int(count))) + [getegid()])
  }
}

extension NamedFile {
  /// Where containers mount their secrets: whoever is in the container may read them.
  private static let containerSecrets = "/run/secrets/"

  /// Refuses a file by which another user could take the service over.
  /// - Parameter setting: the one that names it.
  package static func refuseWritable<Value>(
    _ path: String, of setting: KeyPath<SettingsCatalogue, Setting<Value>>
  ) throws(SettingsError) {
    guard let access = FileAccess(path), access.isWritableByOthers else { return }
    throw SettingsError(
      setting, "\(path) can be changed by other users (mode \(access.modeText)); run `chmod go-w \(path)`")
  }

  /// What is to be said of a secret that all may read; nil where they may not, or cannot come to it.
  package static func warning(_ path: String) -> String? {
    guard let access = FileAccess(path), access.isReadableByAll, !path.hasPrefix(containerSecrets) else {
      return nil
    }
    var directory = URL(filePath: path).resolvingSymlinksInPath().standardizedFileURL
      .deletingLastPathComponent()
    while true {
      let place = directory.path(percentEncoded: false)
      if FileAccess(place)?.keepsOthersOut == true { return nil }
      guard directory.pathComponents.count > 1 else { break }
      directory = directory.deletingLastPathComponent()
    }
    return
      "\(path) can be read by all users of this machine (mode \(access.modeText)); run `chmod o-r \(path)`"
  }
}

extension Settings {
  /// The files with secrets that settings name.
  package var secretFiles: [String] {
    [self.tokenFile, self.webhookSecretFile, self.secretKeyFile].compactMap(\.self)
  }

  /// Refuses the data directory where another user could put something else in the place of its files, and keeps others out of it
  /// where it is this user's.
  package func guardDirectory() throws(SettingsError) {
    let path = self.dataDirectory
    guard let access = FileAccess(path) else { return }
    guard access.owner == geteuid() else {
      guard access.isOpen(groups: FileAccess.ownGroups) else { return }
      throw SettingsError(
        \.dataDirectory,
        """
        \(path) belongs to user \(access.owner), and others can change it (mode \(access.modeText)); run \
        `chmod o-w \(path)`, or name a directory in it, which Ferry makes for its own user alone
        """)
    }
    // A sticky directory is made for all.
    guard access.mode & 0o1077 != 0, access.mode & 0o1000 == 0 else { return }
    _ = chmod(path, access.mode & 0o700)
  }
}
