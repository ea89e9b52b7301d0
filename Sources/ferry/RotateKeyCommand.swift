import ArgumentParser
import Commands
import Crypto
import EventLoop
import FerrySettings
import Processes
import Records
import SQLiteLedger

/// The command `ferry rotate-key`.
struct RotateKeyCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "rotate-key",
    abstract: "Re-encrypt the stored secrets with a new key while the service is stopped.",
    discussion: """
      Adds a new key before those in the secret key file, and re-encrypts every secret in the database with it. The old keys \
      stay in the file, so that the resume data of clients can still be decrypted; --drop-old deletes them. If the command was \
      interrupted, run it again. \(LocalService.help)
      """)

  struct KeyOptions: SettingOptions {
    @Option(\.dataDirectory) var dataDirectory: String?
    @Option(\.secretKeyFile) var secretKeyFile: String?
    @Option(\.config) var config: String?
  }

  @OptionGroup var places: KeyOptions
  @Flag(help: "Delete the old keys; resume data that was encrypted with them becomes useless.")
  var dropOld = false

  func run() async throws {
    try await rotate(try await Settings.load(places.values, for: .maintenance, local: .standard))
  }

  private func rotate(_ settings: Settings) async throws {
    FilePermissions.begin()
    let directory = DataDirectory(settings)
    let lock = try directory.lock()
    defer { withExtendedLifetime(lock) {} }
    guard let worker = ProcessLock(path: WorkerFiles(settings).lock, version: Ferry.version) else {
      let pid = ProcessLock.owner(path: WorkerFiles(settings).lock).map { " (\($0.pid))" } ?? ""
      throw StartError(
        \.dataDirectory,
        "\(settings.dataDirectory) has a running worker\(pid); stop it first (`ferry stop --worker`)")
    }
    defer { withExtendedLifetime(worker) {} }
    var keys = try SecretKeys(settings, mayCreate: false)
    let old = SecretBox(secrets: keys.all)
    keys.addNew()
    let count: Int
    do {
      // Save the new key before any data depends on it, and keep the old ones until no data needs them.
      count = try SecretRotation.run(
        database: settings.path(of: .database), from: old, to: SecretBox(secrets: keys.all)
      ) { try keys.save() }
    } catch let error as OpeningError {
      throw directory.explain(error, keys)
    } catch {
      throw StartError(\.dataDirectory, "the secrets cannot be re-encrypted: \(error); run the command again")
    }
    if dropOld { try keys.dropOld() }
    try CommandOutput.write(Array("\(count) rows re-encrypted in \(settings.namedDirectory)\n".utf8))
  }
}
