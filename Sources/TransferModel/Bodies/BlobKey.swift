/// The writer of a blob: the epoch of an owner, and one of its attempts.
///
/// A later owner writes under another stamp. An earlier owner that still writes, renames or deletes files therefore never affects the blobs
/// of its successor.
package struct BlobStamp: Sendable, Hashable {
  /// The epoch of the owner; 0 for a writer without an epoch.
  package let epoch: Int64
  package let attempt: Int

  package init(epoch: Int64 = 0, attempt: Int = 0) {
    self.epoch = epoch
    self.attempt = attempt
  }

  /// The stamp of blobs whose name is their task's id alone.
  package static let none = BlobStamp()
}

extension BlobStamp: LosslessStringConvertible {
  /// Returns `nil` if the text is not a `description` of a stamp.
  package init?(_ text: String) {
    let numbers = text.split(separator: "-", omittingEmptySubsequences: false)
    guard numbers.count == 2, let epoch = Int64(numbers[0]), let attempt = Int(numbers[1]) else { return nil }
    self.init(epoch: epoch, attempt: attempt)
    guard epoch >= 0, attempt >= 0, description == text else { return nil }
  }

  package var description: String { "\(epoch)-\(attempt)" }
}

/// The name of a blob: its owner, the part of the owner, and its writer.
package struct BlobKey: Sendable, Hashable {
  package enum Owner: Sendable, Hashable {
    case task(TaskID)
    /// A stored file.
    case file(FileID)
  }
  package enum Part: String, Sendable, CaseIterable {
    /// A complete body, which never changes.
    case body = ""
    /// A file that is being written.
    case draft = ".part"
    /// The bytes of an unfinished download, from which it can resume.
    case partial = ".resume"
    /// The body of the task's request, encrypted. It is complete and never changes.
    case request = ".request"
  }

  package let owner: Owner
  package let part: Part
  package let stamp: BlobStamp

  package init(_ owner: Owner, _ part: Part, _ stamp: BlobStamp?) {
    self.owner = owner
    self.part = part
    self.stamp = stamp ?? .none
  }

  package init(_ task: TaskID, _ part: Part, _ stamp: BlobStamp?) { self.init(.task(task), part, stamp) }

  /// Creates the key of a stored file. Each file has a new id, so the key needs no stamp.
  package init(_ file: FileID) { self.init(.file(file), .body, nil) }

  /// The task; `nil` for a stored file.
  package var task: TaskID? { if case .task(let id) = owner { id } else { nil } }
  package var file: FileID? { if case .file(let id) = owner { id } else { nil } }

  package func part(_ part: Part) -> BlobKey { BlobKey(owner, part, stamp) }
}

extension BlobKey: LosslessStringConvertible {
  /// Returns `nil` if the text is not the name of a blob.
  package init?(_ text: String) {
    guard let part = Part.allCases.last(where: { text.hasSuffix($0.rawValue) }) else { return nil }
    let words = text.dropLast(part.rawValue.count)
      .split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false)
    var stamp = BlobStamp.none
    if words.count == 2 {
      guard let given = BlobStamp(String(words[1])), given != .none else { return nil }
      stamp = given
    }
    if let task = TaskID(String(words[0])) {
      self.init(task, part, stamp)
    } else if let file = FileID(String(words[0])) {
      self.init(.file(file), part, stamp)
    } else {
      return nil
    }
  }

  /// The id of the task or the file, the stamp unless it is `none`, and the suffix of the part.
  package var description: String {
    let id = if case .task(let task) = owner { task.description } else { file?.description ?? "" }
    return stamp == .none ? id + part.rawValue : "\(id).\(stamp)\(part.rawValue)"
  }
}

extension DownloadPoint {
  /// The blob with the bytes.
  package var key: BlobKey { BlobKey(source, .partial, blob) }
}
