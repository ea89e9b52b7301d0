internal import BlobStore
internal import Crypto
internal import EngineAPI
internal import SimulatedStores
internal import TransferModel

/// What an attempt has on the disk, by the contract that the engine keeps: it takes what an earlier download left before its request goes
/// out, writes a draft, and gives the draft its last name before its end is told.
struct AttemptFile {
  /// Bytes of every body that is a file.
  static let whole = 60
  /// What is said where its draft is not its own any more.
  static let failure = "what it had written is gone"

  private enum Claim { case untried, held, refused, used }

  private let bodies: any BlobStore
  private let job: TransferJob
  private let point: DownloadPoint?
  private var claim = Claim.untried
  private var draft: (any BlobDraft)?
  private(set) var count = 0
  private var error: BlobError?

  init(of job: TransferJob, in bodies: any BlobStore) {
    (self.job, self.bodies) = (job, bodies)
    // Memory holds it all at once: nothing is left there to go on from.
    point = job.kind == .download && bodies.isDurable ? job.resumePoint?.download : nil
  }

  /// The byte at that place of every body.
  static func bytes(_ range: Range<Int>) -> [UInt8] { range.map { UInt8(truncatingIfNeeded: $0 &* 31 &+ 7) } }

  private func key(_ part: BlobKey.Part, _ task: TaskID) -> BlobKey { BlobKey(task, part, job.blob) }

  var isOpen: Bool { draft != nil }
  /// Downloads to a disk may have a file.
  var mayOpen: Bool { job.kind == .download && bodies.isDurable && draft == nil }
  /// Where it may go on; nil: it cannot.
  var offset: Int? { claim == .held ? point.map { Int($0.partial.offset) } : nil }

  /// Takes what an earlier download has left, once.
  mutating func take() {
    guard claim == .untried, let point else { return }
    do throws(BlobError) {
      try bodies.take(point.key, as: key(.draft, job.task), size: point.partial.offset)
      claim = .held
    } catch {
      claim = .refused
    }
  }

  /// The answer's bytes are about to come.
  /// - Parameter offset: those before it are there.
  mutating func open(at offset: Int) {
    do throws(BlobError) {
      draft =
        try offset > 0
        ? bodies.reopen(key(.draft, job.task), at: Int64(offset)) : bodies.create(key(.draft, job.task))
      count = offset
      if claim == .held { claim = .used }
    } catch {
      self.error = error
    }
  }

  mutating func write(_ most: Int) {
    let end = min(Self.whole, count + most)
    guard let draft, count < end else { return }
    do throws(BlobError) { try draft.write([Self.bytes(count..<end)], at: Int64(count)) } catch {
      self.error = error
    }
    count = end
  }

  /// All of it is here. Nil: it could not be given its name.
  mutating func finish() -> (size: Int64, sha256: String)? {
    write(Self.whole)
    return commit(.body)
  }

  /// Where a later download can go on; nil: nowhere.
  mutating func keep() -> Int? { count > 0 && commit(.partial) != nil ? count : nil }

  private mutating func commit(_ part: BlobKey.Part) -> (size: Int64, sha256: String)? {
    guard let draft, error == nil else { return nil }
    let sha256 = Hexadecimal.text(Array(SHA256.hash(data: Self.bytes(0..<count))))
    defer { self.draft = nil }
    do throws(BlobError) {
      try draft.commit(as: key(part, job.task), size: Int64(count), sha256: sha256)
    } catch {
      self.error = error
      bodies.delete(key(.draft, job.task))
      return nil
    }
    return (Int64(count), sha256)
  }

  /// It ends, and what it has is of no use to anybody.
  mutating func drop() {
    guard draft != nil else { return }
    draft = nil
    bodies.delete(key(.draft, job.task))
  }

  /// What it had taken, and not gone on from, is there again for others.
  /// - Parameter isOfNoUse: its origin has something else by now.
  /// - Returns: where they may go on.
  mutating func giveBack(isOfNoUse: Bool) -> DownloadPoint? {
    guard let point, claim == .held || claim == .untried else { return nil }
    if claim == .held {
      if isOfNoUse {
        bodies.delete(key(.draft, job.task))
      } else {
        bodies.move(key(.draft, job.task), to: point.key)
      }
      claim = .refused
    }
    return isOfNoUse ? nil : point
  }
}
