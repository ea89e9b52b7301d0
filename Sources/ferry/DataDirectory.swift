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

/// Everything that a service remembers, in one directory: the database, the bodies and the stored files belong together.
struct DataDirectory {
  let settings: Settings

  private var path: String { settings.dataDirectory }
  private var database: String { settings.path(of: .database) }

  init(_ settings: Settings) { self.settings = settings }

  /// Makes the directory where there is none, and keeps it for the services that share it.
  func take() throws -> DirectoryLock {
    do throws(UsableDirectory.Fault) { try UsableDirectory.prepare(path) } catch {
      throw StartError(\.dataDirectory, error.description)
    }
    try settings.guardDirectory()
    return try lock(isShared: true)
  }

  /// This process's place among those that share the directory.
  func place() throws -> ProcessPlace {
    do throws(ProcessPlace.Failure) {
      return try ProcessPlace(in: path, version: Ferry.version)
    } catch {
      throw StartError(\.dataDirectory, error.description)
    }
  }

  /// Keeps the directory for this process.
  /// - Parameter isShared: with the services that share it; else for this process alone.
  func lock(isShared: Bool = false) throws -> DirectoryLock {
    do throws(DirectoryLock.Failure) {
      return try DirectoryLock(path, isShared: isShared)
    } catch {
      switch error {
      case .inUse:
        let known = [DirectoryLock.owner(of: path)].compactMap(\.self) + ProcessPlace.owners(in: path)
        let pid = known.first.map { " (\($0.pid))" } ?? ""
        throw StartError(
          \.dataDirectory,
          "\(path) is in use by another process\(pid); end that (`ferry stop`), or name another directory")
      case .failed(let code):
        throw StartError(
          \.dataDirectory,
          "\(path)/\(DirectoryLock.name) cannot be had: \(SystemError(code)); is it the directory of a service?"
        )
      }
    }
  }

  /// What lies beside the database is of no use without it, and would be taken for what nobody wants.
  var hasContents: Bool {
    settings.blobs.hasFiles || hasLog
  }

  /// What was written and not yet moved into the database's file.
  private var hasLog: Bool {
    let attributes = try? FileManager.default.attributesOfItem(atPath: database + "-wal")
    return ((attributes?[.size] as? Int) ?? 0) > 0
  }

  private var isWithoutDatabase: Bool {
    let attributes = try? FileManager.default.attributesOfItem(atPath: database)
    return ((attributes?[.size] as? Int) ?? 0) == 0
  }

  /// The operator wants a new database where there is none: what was written behind the old one is kept out of it.
  func setLogAside(at time: Timestamp) {
    guard isWithoutDatabase else { return }
    for suffix in ["-wal", "-shm"] {
      _ = SetAside(in: path).put(DataPlace.database.rawValue + suffix, at: time)
    }
  }

  /// Opens the database.
  /// - Parameter box: of these keys.
  /// - Throws: `OpeningError`, or that new keys cannot be saved.
  func open(
    _ keys: SecretKeys, _ box: SecretBox, _ unreadable: UnreadableRows, mayCreate: Bool,
    fencedOff: @escaping @Sendable () -> Void = {}, wrote: @escaping @Sendable () -> Void = {},
    published: (@Sendable (Feed) -> Void)?
  ) throws -> SQLiteLedger {
    try SQLiteLedger(
      path: database, box: box, unreadable: unreadable, mayCreate: mayCreate,
      willWrite: keys.saveNew, fencedOff: fencedOff, wrote: wrote, published: published)
  }

  /// One line that says what is wrong and what can be done.
  func explain(_ error: OpeningError, _ keys: SecretKeys) -> StartError {
    switch error {
    case .missing:
      StartError(
        \.dataDirectory,
        """
        \(database) is missing or empty, but there is what belongs to it; put the database back, or start once \
        with \(SettingsCatalogue.shared.newDatabase.option) to begin anew and set bodies and files aside
        """)
    case .newer(let migrations):
      StartError(
        \.dataDirectory,
        """
        \(database) was written by a newer version of Ferry (\(migrations.joined(separator: "; "))), and this is \
        \(Ferry.version); run that version, or put a backup from before the upgrade back
        """)
    case .beforeFirst:
      StartError(
        \.dataDirectory,
        """
        \(database) was written by a version of Ferry before 0.1.0, which \(Ferry.version) cannot read; start with another \
        directory (\(SettingsCatalogue.shared.dataDirectory.option))
        """)
    case .older:
      StartError(
        \.dataDirectory,
        """
        \(database) is open in a service or a worker of an older version, which cannot go on beside \(Ferry.version); \
        end that (`ferry stop --worker`)
        """)
    case .otherKey:
      StartError(
        \.secretKeyFile,
        """
        the secrets in \(database) are under a key that is not in \(keys.path); put the file back that the service \
        ran with, or move \(DataPlace.database.rawValue), bodies and files away to begin anew
        """)
    case .readOnly:
      StartError(
        \.dataDirectory, "\(database) cannot be written; see its owner, its mode, and how it is mounted")
    case .kept:
      StartError(
        \.dataDirectory,
        "\(database) is kept by another process\(owner), which is in the middle of a write")
    case .failed(let message):
      StartError(\.dataDirectory, "\(database) cannot be opened: \(message)")
    }
  }

  private var owner: String {
    ProcessLock.owner(path: WorkerPlaces(settings).lock).map { ", perhaps the worker (\($0.pid))" } ?? ""
  }

  /// Makes the directories beside the database.
  func prepare() throws {
    do throws(UsableDirectory.Fault) {
      try settings.blobs.prepare()
    } catch {
      throw StartError(\.dataDirectory, error.description)
    }
  }

  /// Says whether all of it is where it is now.
  func watch() -> @Sendable () -> Bool {
    let paths = [path + "/" + DirectoryLock.name] + [.database, .bodies, .files].map(settings.path)
    let identities = paths.map { FileIdentity($0) }
    return { zip(paths, identities).allSatisfy { FileIdentity($0) == $1 } }
  }
}
