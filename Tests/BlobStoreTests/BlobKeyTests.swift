import Testing
import TransferModel

@Suite struct BlobKeyTests {
  private static let (task, file) = (TaskID(high: 1, low: 1), FileID(high: 1, low: 1))
  private static let stamps: [BlobStamp] = [
    .none, BlobStamp(epoch: 1), BlobStamp(attempt: 1), BlobStamp(epoch: .max, attempt: .max),
  ]

  @Test func `names of keys are parsed and written`() {
    for stamp in Self.stamps {
      #expect(BlobStamp(stamp.description) == stamp)
      for part in BlobKey.Part.allCases {
        for key in [BlobKey(Self.task, part, stamp), BlobKey(.file(Self.file), part, stamp)] {
          #expect(BlobKey(key.description) == key)
        }
      }
    }
    #expect(BlobKey(Self.task, .draft, nil).description == "\(Self.task).part")
    #expect(
      BlobKey(Self.task, .partial, BlobStamp(epoch: 3, attempt: 4)).description == "\(Self.task).3-4.resume")
  }

  @Test(arguments: [
    "", ".", "..", ".part", "note", "junk.part", "lost+found", "set-aside", "\(task).old", "\(task).0-0",
    "\(task).1", "\(task).1-", "\(task).-1-1", "\(task).+1-1", "\(task).01-1", "\(task).1-1-1",
    "\(task).1-1.old",
    "\(task).part.1-1", "\(task).9223372036854775808-1",
  ])
  func `invalid names are refused`(_ text: String) { #expect(BlobKey(text) == nil) }
}
