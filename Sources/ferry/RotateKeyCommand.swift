import ArgumentParser
import Crypto
import EventLoop
import FerrySettings
import Processes
import Records
import SQLiteLedger

/// `ferry rotate-key`.
struct RotateKeyCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "rotate-key",
    abstract: "Put the stored secrets under a new key, while the service is stopped.",
    discussion: """
      A new key is put before those in the secret key file, and every secret in the database is encrypted anew with \
      it. The old keys stay in the file, so that resume data that clients hold can still be opened, unless \
      --drop-old is given. It can be run again after it was interrupted. \(LocalService.help)
      """)

  struct Places: SettingOptions {
    @Option(\.dataDirectory) var dataDirectory: String?
    @Option(\.secretKeyFile) var secretKeyFile: String?
    @Option(\.config) var config: String?
  }

  @OptionGroup var places: Places
  @Flag(help: "Forget the old keys: resume data made under them is of no use any more.")
  var dropOld = false

  func run() async throws {
    try await rotate(try await Settings.load(places.values, for: .maintenance, local: .standard))
  }

  private func rotate(_ settings: Settings) async throws {
    PrivatePlaces.begin()
    let directory = DataDirectory(settings)
    let lock = try directory.lock()
    defer { withExtendedLifetime(lock) {} }
    guard let worker = ProcessLock(path: WorkerPlaces(settings).lock, version: Ferry.version) else {
      let pid = ProcessLock.owner(path: WorkerPlaces(settings).lock).map { " (\($0.pid))" } ?? ""
      throw StartError(
        \.dataDirectory, "\(settings.dataDirectory) has a worker\(pid); end it with SIGTERM first")
    }
    defer { withExtendedLifetime(worker) {} }
    var keys = try SecretKeys(settings, mayCreate: false)
    let old = SecretBox(secrets: keys.all)
    keys.addNew()
    let count: Int
    do {
      // The new key is on the disk before anything depends on it, and the old ones until nothing does.
      count = try SecretRotation.run(
        database: settings.path(of: .database), from: old, to: SecretBox(secrets: keys.all)
      ) { try keys.save() }
    } catch let error as OpeningError {
      throw directory.explain(error, keys)
    } catch {
      throw StartError(\.dataDirectory, "the secrets cannot be encrypted anew: \(error)")
    }
    if dropOld { try keys.dropOld() }
    StandardOutput.write(Array("\(count) rows re-encrypted in \(settings.namedDirectory)\n".utf8))
  }
}
