"""A span of a passage: a softmax over its words for the start of the answer, and one for the end.

    start, end = W x     two scores for [CLS] and each word of the passage
    loss                 mean of the cross-entropies of start and end
    span (i, j)          score start_i + end_j, where i <= j < i + longest answer
    margin               score of the best span minus start_0 + end_0, the score of no answer

Places count the vectors of a sequence. Place 0 is [CLS] and means no answer, 1 is
its first word. Words of the question cannot be answers.

Source: Devlin et al. 2019, sections 4.2 and 4.3.
"""

import torch
from torch import Tensor
from torch.nn import functional
from torch.nn.utils.rnn import pad_sequence

from featbert.encoders.batching import Ints
from featbert.encoders.device import to_device
from featbert.models.logits import Logits
from featbert.tasks.base import TargetSummary


class Span(Logits):
    """Start and end scores. `lengths` (B, 2) are the vectors before the passage, and its words."""

    def __init__(self, width: int, targets: TargetSummary, *, longest_answer: int) -> None:
        """The classes are ("answerable",) or ("answerable", "unanswerable")."""
        super().__init__(width, 2)
        self.longest = longest_answer
        self.n_classes = len(targets.classes)

    def loss(self, vectors: Tensor, lengths: Ints, targets: Tensor) -> Tensor:
        """Sum of the questions' losses. targets (B, 2) are first and last place of the answer."""
        scores, question_words = self._scores(vectors, lengths)
        right = torch.where(targets > 0, targets - question_words[:, None], 0)
        return functional.cross_entropy(scores, right, reduction="sum") / 2

    def decode(self, vectors: Tensor, lengths: Ints) -> Tensor:
        """(B, 3) first and last place of each question's best span, and its margin."""
        return self.probabilities(vectors, lengths)[0]

    def probabilities(self, vectors: Tensor, lengths: Ints) -> tuple[Tensor, Tensor]:
        """As in `decode`, and (B, C) the probability of the best span and of no answer."""
        scores, question_words = self._scores(vectors, lengths)
        start, end = scores[:, 1:].unbind(2)  # (B, longest passage)
        longest = min(self.longest, start.shape[1])
        ends = functional.pad(end, (0, longest - 1), value=-torch.inf).unfold(1, longest, 1)
        # The best end of a span from each place, the last of equals: characters that share a piece
        # have equal scores, and then all of them are in the answer.
        best, flipped_place = ends.flip(2).max(2)
        words_after_start = longest - 1 - flipped_place
        highest, first = (start + best).max(1)
        last = first + words_after_start.gather(1, first[:, None]).squeeze(1)
        nothing = scores[:, 0].sum(1)
        before = question_words + 1
        answers = torch.stack([first + before, last + before, highest - nothing], dim=1)
        sums = torch.stack([highest, nothing], dim=1)
        log_shares = sums - scores.logsumexp(1).sum(1, keepdim=True)
        return answers.float(), log_shares[:, : self.n_classes].exp()

    def _scores(self, vectors: Tensor, lengths: Ints) -> tuple[Tensor, Tensor]:
        """(B, 1 + longest passage, 2) scores in fp32, and (B,) words of the question.

        Place 0 has the scores of no answer. After the passage scores are -inf.
        """
        parts = torch.split(self.logits(vectors), lengths.ravel().tolist())
        places = [torch.cat([a[:1], b]) for a, b in zip(parts[::2], parts[1::2], strict=True)]
        question_words = to_device(torch.from_numpy(lengths[:, 0] - 1), vectors.device)
        return pad_sequence(places, batch_first=True, padding_value=-torch.inf), question_words
