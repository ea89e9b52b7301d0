internal import BlobStore
internal import Crypto
internal import EngineAPI
internal import SimulatedStores
internal import TransferModel

/// The file of an attempt, by the engine's contract. Before its request is sent, the attempt claims the partial file of an earlier
/// download. It then writes a draft, and renames the draft before it reports its end.
struct AttemptFile {
  /// The size in bytes of every body in a file.
  static let whole = 60
  /// The error message of an attempt that has lost its draft to another.
  static let failure = "the draft was deleted or replaced"

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
    // A body in memory cannot be resumed.
    point = job.kind == .download && bodies.isDurable ? job.resumePoint?.download : nil
  }

  /// Returns the bytes of every body in the given range.
  static func bytes(_ range: Range<Int>) -> [UInt8] { range.map { UInt8(truncatingIfNeeded: $0 &* 31 &+ 7) } }

  private func key(_ part: BlobKey.Part, _ task: TaskID) -> BlobKey { BlobKey(task, part, job.blob) }

  var isOpen: Bool { draft != nil }
  /// Whether the attempt may still open a file: only a download to disk has one.
  var mayOpen: Bool { job.kind == .download && bodies.isDurable && draft == nil }
  /// The offset of the claimed partial file; `nil` if there is none.
  var offset: Int? { claim == .held ? point.map { Int($0.partial.offset) } : nil }

  /// Claims the partial file of an earlier download, once.
  mutating func take() {
    guard claim == .untried, let point else { return }
    do throws(BlobError) {
      try bodies.claim(point.key, as: key(.draft, job.task), size: point.partial.offset)
      claim = .held
    } catch {
      claim = .refused
    }
  }

  /// Opens the draft for the response's bytes.
  /// - Parameter offset: the number of bytes that the draft already has.
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

  /// Completes the body. Returns `nil` if the draft could not be renamed.
  mutating func finish() -> (size: Int64, sha256: String)? {
    write(Self.whole)
    return commit(.body)
  }

  /// Keeps the draft as a partial file. Returns the offset from which a later download can resume; `nil` if none can.
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

  /// Deletes the draft.
  mutating func drop() {
    guard draft != nil else { return }
    draft = nil
    bodies.delete(key(.draft, job.task))
  }

  /// Returns an unused partial file for other attempts.
  /// - Parameter isOfNoUse: whether the origin has another version by now, so that the file is deleted.
  /// - Returns: the point from which other attempts can resume.
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
