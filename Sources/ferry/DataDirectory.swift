import BlobStore
import EventLoop
import FerrySettings
import FoundationEssentials
import Ledger
import Processes
import Records
import SQLiteLedger
import TransferEngine
import TransferModel

/// A service's directory of persistent data: the database, the bodies and the stored files.
struct DataDirectory {
  let settings: Settings

  private var path: String { settings.dataDirectory }
  private var database: String { settings.path(of: .database) }

  init(_ settings: Settings) { self.settings = settings }

  /// Creates the directory if it does not exist, and locks it for the services that share it.
  func lockShared() throws -> DirectoryLock {
    do throws(UsableDirectory.Fault) { try UsableDirectory.prepare(path) } catch {
      throw StartError(\.dataDirectory, error.description)
    }
    try settings.guardDirectory()
    return try lock(isShared: true)
  }

  /// Registers this process among those that share the directory.
  func register() throws -> ProcessRegistration {
    do throws(ProcessRegistration.Failure) {
      return try ProcessRegistration(in: path, version: Ferry.version)
    } catch {
      throw StartError(\.dataDirectory, error.description)
    }
  }

  /// Locks the directory for this process.
  /// - Parameter isShared: whether other services may share the lock.
  func lock(isShared: Bool = false) throws -> DirectoryLock {
    do throws(DirectoryLock.Failure) {
      return try DirectoryLock(path, isShared: isShared)
    } catch {
      switch error {
      case .inUse:
        let known = [DirectoryLock.owner(of: path)].compactMap(\.self) + ProcessRegistration.owners(in: path)
        let pid = known.first.map { " (\($0.pid))" } ?? ""
        throw StartError(
          \.dataDirectory,
          "\(path) is in use by another process\(pid); stop it (`ferry stop`), or name another directory")
      case .failed(let code):
        throw StartError(
          \.dataDirectory,
          "\(path)/\(DirectoryLock.name) cannot be locked: \(SystemError(code)); name the data directory of a service"
        )
      }
    }
  }

  /// Whether the directory has contents other than the database. Without the database they are useless, and would count as orphans.
  var hasContents: Bool {
    settings.blobs.containsBlobs || hasLog
  }

  /// Whether the write-ahead log has data that is not in the database's file yet.
  private var hasLog: Bool {
    let attributes = try? FileManager.default.attributesOfItem(atPath: database + "-wal")
    return ((attributes?[.size] as? Int) ?? 0) > 0
  }

  private var lacksDatabase: Bool {
    let attributes = try? FileManager.default.attributesOfItem(atPath: database)
    return ((attributes?[.size] as? Int) ?? 0) == 0
  }

  /// Quarantines the log of a missing database, so that a new database does not read it.
  func quarantineStaleLog(at time: Timestamp) {
    guard lacksDatabase else { return }
    for suffix in ["-wal", "-shm"] {
      _ = QuarantineDirectory(in: path).move(DataFile.database.rawValue + suffix, at: time)
    }
  }

  /// Opens the database.
  /// - Parameter box: the box with these keys.
  /// - Throws: `OpeningError`, or an error if new keys cannot be saved.
  func open(
    _ keys: SecretKeys, _ box: SecretBox, _ unreadable: UnreadableRows, mayCreate: Bool,
    fencedOff: @escaping @Sendable () -> Void = {}, wrote: @escaping @Sendable () -> Void = {},
    published: (@Sendable (Feed) -> Void)?
  ) throws -> SQLiteLedger {
    try SQLiteLedger(
      path: database, box: box, unreadable: unreadable, mayCreate: mayCreate,
      willWrite: keys.saveNew, fencedOff: fencedOff, wrote: wrote, published: published)
  }

  /// Returns a line that describes the error and its remedy.
  func explain(_ error: OpeningError, _ keys: SecretKeys) -> StartError {
    switch error {
    case .missing:
      StartError(
        \.dataDirectory,
        """
        \(database) is missing or empty, but its bodies or files exist; restore the database, or start once with \
        \(SettingsCatalogue.shared.newDatabase.option) to create a new one and quarantine bodies and files
        """)
    case .newer(let migrations):
      StartError(
        \.dataDirectory,
        """
        \(database) was written by a newer version of Ferry than \(Ferry.version) (\(migrations.joined(separator: "; "))); run \
        that version, or restore a backup from before the upgrade
        """)
    case .beforeFirst:
      StartError(
        \.dataDirectory,
        """
        \(database) was written by a version of Ferry before 0.1.0, which \(Ferry.version) cannot read; name another \
        directory (\(SettingsCatalogue.shared.dataDirectory.option))
        """)
    case .older:
      StartError(
        \.dataDirectory,
        """
        \(database) is open in a service or worker of an older version, which cannot share it with \(Ferry.version); \
        stop that process (`ferry stop --worker`)
        """)
    case .otherKey:
      StartError(
        \.secretKeyFile,
        """
        the secrets in \(database) are encrypted with a key that is not in \(keys.path); restore the key file of that \
        database, or name another data directory
        """)
    case .readOnly:
      StartError(
        \.dataDirectory, "\(database) cannot be written; check its owner, its mode, and how it is mounted")
    case .lockedByOther:
      StartError(
        \.dataDirectory,
        "\(database) is locked by another process\(owner), which does not finish its write; stop that process"
      )
    case .failed(let message):
      StartError(\.dataDirectory, "\(database) cannot be opened: \(message)")
    }
  }

  private var owner: String {
    ProcessLock.owner(path: WorkerFiles(settings).lock).map { ", possibly the worker (\($0.pid))" } ?? ""
  }

  /// Creates the directories of the blobs.
  func prepare() throws {
    do throws(UsableDirectory.Fault) {
      try settings.blobs.prepare()
    } catch {
      throw StartError(\.dataDirectory, error.description)
    }
  }

  /// Returns a closure that checks whether all files are still the same ones.
  func presenceCheck() -> @Sendable () -> Bool {
    let paths = [path + "/" + DirectoryLock.name] + [.database, .bodies, .files].map(settings.path)
    let identities = paths.map { FileIdentity($0) }
    return { zip(paths, identities).allSatisfy { FileIdentity($0) == $1 } }
  }
}
