internal import FoundationEssentials
internal import Glibc

/// The owner, group and mode of a file or directory (inode(7)), which decide who can read or change it.
package struct FileAccess: Sendable, Equatable {
  package let owner: UInt32
  package let group: UInt32
  package let mode: UInt32

  package init(owner: UInt32, group: UInt32, mode: UInt32) {
    self.owner = owner
    self.group = group
    self.mode = mode & 0o7777
  }

  /// Reads the access of a path, following symbolic links; `nil` if the path does not exist.
  package init?(_ path: String) {
    var information = stat()
    guard stat(path, &information) == 0 else { return nil }
    self.init(owner: information.st_uid, group: information.st_gid, mode: information.st_mode)
  }

  /// Whether all users can read the file if they can reach it.
  package var isReadableByAll: Bool { mode & 0o004 != 0 }
  /// Whether its group or all users can change the file.
  package var isWritableByOthers: Bool { mode & 0o022 != 0 }
  /// Whether only the owner and the group can reach files in this directory.
  package var isPrivate: Bool { mode & 0o001 == 0 }
  /// The mode in the notation of `chmod`.
  package var modeText: String { "0" + String(mode, radix: 8) }

  /// Whether another user can replace files in this directory. True if all users, or a group outside `groups`, can write to it and it is
  /// not sticky.
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
  /// The directory where containers mount secrets. Every process in the container may read them.
  private static let containerSecrets = "/run/secrets/"

  /// Refuses a file that other users can change, because a change could give them control of the service.
  /// - Parameter setting: the setting that names the file.
  package static func rejectWritable<Value>(
    _ path: String, of setting: KeyPath<SettingsCatalogue, Setting<Value>>
  ) throws(SettingsError) {
    guard let access = FileAccess(path), access.isWritableByOthers else { return }
    throw SettingsError(
      setting, "\(path) can be changed by other users (mode \(access.modeText)); run `chmod go-w \(path)`")
  }

  /// Returns the warning for a secret file that all users can read; `nil` if they cannot read or reach the file.
  package static func warning(_ path: String) -> String? {
    guard let access = FileAccess(path), access.isReadableByAll, !path.hasPrefix(containerSecrets) else {
      return nil
    }
    var directory = URL(filePath: path).resolvingSymlinksInPath().standardizedFileURL
      .deletingLastPathComponent()
    while true {
      let place = directory.path(percentEncoded: false)
      if FileAccess(place)?.isPrivate == true { return nil }
      guard directory.pathComponents.count > 1 else { break }
      directory = directory.deletingLastPathComponent()
    }
    return
      "\(path) can be read by all users of this machine (mode \(access.modeText)); run `chmod o-r \(path)`"
  }
}

extension Settings {
  /// The secret files that settings name.
  package var secretFiles: [String] {
    [self.tokenFile, self.webhookSecretFile, self.secretKeyFile].compactMap(\.self)
  }

  /// Restricts the data directory to this user if this user owns it. Refuses another user's directory in which further users can replace
  /// files.
  package func guardDirectory() throws(SettingsError) {
    let path = self.dataDirectory
    guard let access = FileAccess(path) else { return }
    guard access.owner == geteuid() else {
      guard access.isOpen(groups: FileAccess.ownGroups) else { return }
      throw SettingsError(
        \.dataDirectory,
        """
        \(path) belongs to user \(access.owner), and other users can write to it (mode \(access.modeText)); run \
        `chmod go-w \(path)`, or name a subdirectory, which Ferry creates for its own user alone
        """)
    }
    // A sticky directory is shared on purpose, as /tmp is.
    guard access.mode & 0o1077 != 0, access.mode & 0o1000 == 0 else { return }
    _ = chmod(path, access.mode & 0o700)
  }
}
